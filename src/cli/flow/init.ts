import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
import { hasTextCells, type InputOptions, inputFormat, isTable, openInput } from '../input-options.ts';
import { shellWord } from '../show/text.ts';
import type { Terminal } from '../terminal.ts';
import { curlRequest } from './curl.ts';
import { checkFields, loadFlow, printWarnings } from './flow-file.ts';

/** The options of `automate init`. */
export interface InitOptions extends Omit<InputOptions, 'in'> {
  readonly in?: string;
  /** A curl command line, or `-` for one on stdin. */
  readonly fromCurl?: string;
  readonly force?: boolean;
}

/** Writes a flow to start from into a folder, which is made when it is not there. Answers the exit code. */
export async function initCommand(folder: string, options: InitOptions, terminal: Terminal): Promise<number> {
  const { in: input, fromCurl } = options;
  const path = join(folder, 'flow.yaml').replace(/^-/, './-');
  if (input === '-' && fromCurl === '-')
    throw new AutomateError('usage', '--in and --from-curl both read stdin; expected one of them there');
  if (!options.force) await refuseExisting(path, 'name another folder, or overwrite it with --force');
  const curl = fromCurl === undefined ? undefined : curlRequest(fromCurl === '-' ? await textOf(process.stdin) : fromCurl);
  const example = input === undefined ? undefined : await exampleOf({ ...options, in: input });
  const starter = starterFlow(curl?.request ?? usualRequest(example), example);
  await written(path, starter.text, options.force ?? false);
  const advice = delimiterAdvice(example?.columns ?? []);
  const notes = [...(advice ? [`${example?.name} has one column; ${advice}`] : []), ...(curl?.notes ?? []), ...starter.notes];
  tellAbout(starter, path, notes, options, terminal);
  const plan = await loadFlow(path, { allowHttp: starter.needsAllowHttp, textCells: hasTextCells(options) });
  printWarnings(plan, path, terminal);
  if (example && options.in !== undefined && hasTextCells(options)) checkFields(plan, path, example.columns);
  return exitCodes.success;
}

/** What tells a record apart: the field that is called so, or else the first. */
function usualRequest(example: Example | undefined): WrittenRequest {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const column = columns.find((name) => /^id$/i.test(name)) ?? columns.find((name) => /[_-]id$/i.test(name)) ?? columns[0] ?? 'id';
  return { method: 'GET', url: `https://api.example.com/items/{{${names.get(column) ?? column}}}`, headers: [] };
}

async function exampleOf(options: InputOptions): Promise<Example> {
  const name = options.in === '-' ? 'stdin' : options.in;
  const source = await openInput(options);
  try {
    const fields = await firstOf(source);
    return { name, columns: source.columns ?? [...(fields?.keys() ?? [])], fields };
  } catch (error) {
    // A record that cannot be read is for the run to tell.
    if (isTable(source.format) && source.columns) return { name, columns: source.columns };
    throw error;
  } finally {
    await source.close();
  }
}

async function firstOf(source: Source): Promise<Fields | undefined> {
  for await (const items of source.batches()) {
    const whole = items.find(({ failure }) => !failure);
    if (whole) return whole.fields;
  }
  return undefined;
}

async function written(path: string, text: string, force: boolean): Promise<void> {
  await namingErrors(path, 'written', async () => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: force ? 'w' : 'wx' });
  });
}

/** What was made, and what to do next, as command lines to copy. */
function tellAbout(starter: Starter, path: string, notes: readonly string[], options: InitOptions, { say, colors }: Terminal): void {
  const { credentials } = starter;
  const isStream = options.in === undefined || options.in === '-';
  const kind = options.in === undefined ? 'csv' : inputFormat({ ...options, in: options.in }).kind;
  const input = isStream ? `rows.${kind}` : (options.in as string);
  const formats = [
    ...(options.inFormat === undefined ? [] : ['--in-format', options.inFormat]),
    ...(options.delimiter === undefined ? [] : ['--delimiter', options.delimiter]),
    ...(options.encoding === undefined ? [] : ['--encoding', options.encoding]),
    ...(starter.needsAllowHttp ? ['--allow-http'] : []),
  ];
  const command = (...words: readonly string[]) => `  ${['automate', ...words].map(shellWord).join(' ')}`;
  const unused = starter.usesFields ? [] : ['it uses no field yet: write {{name}} where the value of that field belongs'];
  say(
    [
      `${colors.green('wrote')} ${path}`,
      ...[...notes, ...unused].map((note) => `  ${note}`),
      ...credentials.map(({ found, what, name }) => `  not written: ${found}; keep ${what} as the credential ${name}`),
      isStream ? `next, with your records in ${input}:` : 'next:',
      ...credentials.map(({ name }) => command('credentials', 'set', name)),
      command('validate', path, '--in', input, ...formats),
      command('test-request', path, '--in', input, ...formats),
      command('run', path, '--in', input, ...formats, '--out', `out.${kind}`),
    ].join('\n'),
  );
}
