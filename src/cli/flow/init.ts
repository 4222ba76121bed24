import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { delimiterAdvice } from '../../core/columns.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { type Starter, starterFlow } from '../../flow/starter/starter.ts';
import { type Example, referableNames } from '../../flow/starter/starter-references.ts';
import type { WrittenRequest } from '../../flow/starter/written-node.ts';
import { namingErrors } from '../../io/files/naming-errors.ts';
import { refuseExisting } from '../../io/output/sink.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { exitCodes } from '../exit.ts';
import { hasTextCells, type InputOptions, inputFormat, isTable, openInput, withToldFormat } from '../input-options.ts';
import { shellWord } from '../show/text.ts';
import type { Terminal } from '../terminal.ts';
import { curlRequest } from './curl.ts';
import { checkFields, loadFlow, printWarnings } from './flow-file.ts';
import type { InitOptions } from './flow-options.ts';

/** Writes a first flow into a folder, which it creates if needed. Returns the exit code. */
export async function initCommand(folder: string, given: InitOptions, terminal: Terminal): Promise<number> {
  const { in: input, fromCurl } = given;
  const path = join(folder, 'flow.yaml').replace(/^-/, './-');
  if (input === '-' && fromCurl === '-')
    throw new AutomateError('usage', '--in and --from-curl both read stdin; expected one of them there');
  if (!given.force) await refuseExisting(path, 'choose another folder, or overwrite it with --force');
  const curl = fromCurl === undefined ? undefined : curlRequest(fromCurl === '-' ? await textOf(process.stdin) : fromCurl);
  const options = input === undefined ? given : await withToldFormat({ ...given, in: input }, terminal.say);
  const example = input === undefined ? undefined : await exampleOf({ ...options, in: input });
  const starter = starterFlow(curl?.request ?? defaultRequest(example), example, flowName(folder, curl?.request.url));
  await writeFlow(path, starter.text, options.force ?? false);
  const advice = delimiterAdvice(example?.columns ?? []);
  const notes = [...(advice ? [`${example?.name} has one column; ${advice}`] : []), ...(curl?.notes ?? []), ...starter.notes];
  terminal.say(`${terminal.colors.green('wrote')} ${resultText(starter, path, notes, options)}`);
  const plan = await loadFlow(path, { allowHttp: starter.needsAllowHttp, textCells: hasTextCells(options) });
  printWarnings(plan, path, terminal);
  if (example && options.in !== undefined && hasTextCells(options)) checkFields(plan, path, example.columns);
  return exitCodes.success;
}

/** The name of the flow, under which its credits are counted: the folder's, or the host's for a flow in the current folder. */
function flowName(folder: string, url: string | undefined): string {
  const host = url !== undefined && resolve(folder) === process.cwd() && URL.canParse(url) ? new URL(url).hostname : '';
  return host || basename(resolve(folder)) || 'flow';
}

/** A request for one item: by the field that looks like an id, else by the first field. */
function defaultRequest(example: Example | undefined): WrittenRequest {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const column = columns.find((name) => /^id$/i.test(name)) ?? columns.find((name) => /[_-]id$/i.test(name)) ?? columns[0] ?? 'id';
  return { method: 'GET', url: `https://api.example.com/items/{{${names.get(column) ?? column}}}`, headers: [] };
}

async function exampleOf(options: InputOptions): Promise<Example> {
  const name = options.in === '-' ? 'stdin' : options.in;
  const source = await openInput(options);
  try {
    const fields = await firstRecord(source);
    return { name, columns: source.columns ?? [...(fields?.keys() ?? [])], fields };
  } catch (error) {
    // The run reports a record that cannot be read.
    if (isTable(source.format) && source.columns) return { name, columns: source.columns };
    throw error;
  } finally {
    await source.close();
  }
}

async function firstRecord(source: Source): Promise<Fields | undefined> {
  for await (const items of source.read()) {
    const whole = items.find(({ failure }) => !failure);
    if (whole) return whole.fields;
  }
  return undefined;
}

async function writeFlow(path: string, text: string, force: boolean): Promise<void> {
  await namingErrors(path, 'written', async () => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: force ? 'w' : 'wx' });
  });
}

/** The flow that was written, and the next steps as command lines to copy. */
function resultText(starter: Starter, path: string, notes: readonly string[], options: InitOptions): string {
  const { credentials } = starter;
  const isStream = options.in === undefined || options.in === '-';
  const kind = options.in === undefined ? 'csv' : inputFormat({ ...options, in: options.in }).kind;
  const input = isStream ? `rows.${kind}` : (options.in as string);
  const formats = [
    ...(isStream || options.inFormat === undefined ? [] : ['--in-format', options.inFormat]),
    ...(options.delimiter === undefined ? [] : ['--delimiter', options.delimiter]),
    ...(options.encoding === undefined ? [] : ['--encoding', options.encoding]),
    ...(starter.needsAllowHttp ? ['--allow-http'] : []),
  ];
  const command = (...words: readonly string[]) => `  ${['automate', ...words].map(shellWord).join(' ')}`;
  const unused = starter.usesFields ? [] : ['it uses no field yet: write {{name}} where the value of that field belongs'];
  return [
    path,
    ...[...notes, ...unused].map((note) => `  ${note}`),
    ...credentials.map(({ found, what, name }) => `  not written: ${found}; store ${what} as the credential ${name}`),
    isStream ? `next, with your records in ${input}:` : 'next:',
    ...credentials.map(({ name }) => command('credentials', 'set', name)),
    command('validate', path, '--in', input, ...formats),
    command('test-request', path, '--in', input, ...formats),
    command('run', path, '--in', input, ...formats, '--out', `out.${kind}`),
  ].join('\n');
}
