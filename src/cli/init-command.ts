import { mkdir, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AutomateError } from '../core/failure.ts';
import { otherDelimiter, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import type { InputOptions } from '../core/run-options.ts';
import { referable } from '../core/template/template.ts';
import { isLoopback } from '../core/template/url.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import type { Value } from '../core/value/value.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { isRegularFile } from '../output/sink.ts';
import { usualFormat } from '../records/formats.ts';
import { hasTextCells, inputFormat, openInput, withToldFormat } from '../records/inputs.ts';
import type { RecordSource } from '../records/source.ts';
import { checkHeader, loadFlow } from '../run/flow-file.ts';
import { testFileOf } from '../run/reserved-paths.ts';
import type { AnswerExample } from '../starter/openapi/described-answer.ts';
import { type Starter, starterFlow } from '../starter/starter.ts';
import type { Example } from '../starter/starter-references.ts';
import { checkSources, type GivenSource, requestList, requestSource } from './init-source.ts';
import type { WrittenOptions } from './options.ts';
import { inputOptions, type ReadingOptions } from './shared-options.ts';
import { printWarnings } from './show/problems.ts';
import { sayFormat, sayNote, type Terminal } from './terminal.ts';

interface InitOptions extends ReadingOptions, GivenSource {
  readonly in?: string;
  readonly schema?: string;
  readonly force?: boolean;
}

export async function initCommand(folder: string, given: InitOptions, written: WrittenOptions, terminal: Terminal): Promise<undefined> {
  const path = join(folder, 'flow.yaml').replace(/^-/, './-');
  checkSources(given);
  const list = await requestList(given, terminal);
  if (list !== undefined) {
    await terminal.print(list);
    return;
  }
  if (!given.force && isRegularFile(path))
    throw new AutomateError('output-exists', `${path} exists already\nchoose another folder, or overwrite it with --force`);
  const requestFor = await requestSource(given);
  const options = given.in === undefined ? given : await withToldFormat({ ...given, in: given.in }, sayFormat(terminal));
  const example = options.in === undefined ? undefined : await exampleFor({ ...options, in: options.in }, terminal);
  const { request, isNamedByHost, ...source } = await requestFor(example, hasTextCells(options));
  const name = flowName(folder, isNamedByHost ? request.url : undefined);
  const made = starterFlow(request, { ...source, name });
  const credentials = [...(source.credentials ?? []), ...made.credentials];
  const notes = [...source.notes, ...shellNotes(source.shellVariables, made.text), ...made.notes, ...schemaNotes(options.schema)];
  const starter = { ...made, credentials, notes, text: schemaLine(path, options.schema) + made.text };
  await writeFlow(path, starter.text, options.force ?? false);
  terminal.say(`${terminal.colors.green('wrote')} ${resultText(starter, path, options, written)}`);
  const plan = await checkWritten(
    path,
    starter,
    { options, example: source.lacksColumns || made.lacksColumns ? undefined : example },
    terminal,
  );
  if (source.answer) {
    const { answer, samples } = source;
    await writeFirstTest(path, { plan, answer, samples, fields: example?.fields, allowHttp: starter.needsAllowHttp }, terminal);
  }
}

/** Variables in place of secrets are not in the flow. */
function shellNotes(variables: readonly string[] = [], flow: string): string[] {
  const left = variables.filter((name) => flow.includes(name)).join(', ');
  return left === '' ? [] : [`variables of a shell stay text in a flow: write the value instead of ${left}`];
}

/** Throws a FlowError if the flow is not valid, which can happen if the source request was wrong. */
async function checkWritten(
  path: string,
  { needsAllowHttp }: Starter,
  { options, example }: { readonly options: InitOptions; readonly example: Example | undefined },
  terminal: Terminal,
): Promise<Plan> {
  const textCells = hasTextCells(options);
  const plan = await loadFlow(path, { allowHttp: needsAllowHttp, textCells });
  printWarnings(plan, path, terminal);
  if (example && textCells) checkHeader(plan, path, example.columns);
  return plan;
}

interface ExampleOfFlow {
  readonly plan: Plan;
  readonly answer: AnswerExample;
  readonly samples: ReadonlyMap<string, unknown> | undefined;
  readonly fields: Fields | undefined;
  readonly allowHttp: boolean;
}

/** An existing test file stays unchanged, because it might contain other tests. */
async function writeFirstTest(
  flow: string,
  { plan, answer, samples = new Map(), fields, allowHttp }: ExampleOfFlow,
  terminal: Terminal,
): Promise<void> {
  const { recordTest, withTest } = await import('../flow-tests/recorder.ts');
  const path = testFileOf(flow);
  if (statOf(path)) return terminal.say(`${path} already exists, so it is not changed`);
  const { status, body, lastBody } = answer;
  let requests = 0;
  const made = await recordTest('the example of the API', {
    plan,
    allowHttp,
    fields: exampleRecord(plan, fields && plan.names.fieldsInFlow(fields), samples),
    takeAnswer: () => ({ ...(status !== 200 && { status }), body: requests++ > 0 && lastBody !== undefined ? lastBody : body }),
  });
  // No test is written if the flow fails with the example response, because the test would be useless.
  if (!made || made.fails) return;
  const text = withTest(undefined, basename(flow), { ...made, ...(allowHttp && { options: { allow_http: true } }) });
  await namingErrors(path, 'written', () => writeFile(path, text));
  terminal.say(`${terminal.colors.green('wrote')} ${path}, a first test: automate test ${shellWord(path)}`);
}

/** The first record of the input, with an example value for each field that the flow reads and the record lacks. */
function exampleRecord({ reads }: Plan, fields: Fields | undefined, samples: ReadonlyMap<string, unknown>): Fields {
  const named = new Map([...samples].map(([name, value]) => [referable(name), value]));
  const missing = [...reads.fields].filter((field) => !fields?.has(field));
  return new Map([...(fields ?? []), ...missing.map((field) => [field, String(named.get(field) ?? 'example') as Value] as const)]);
}

/** By this comment, editors find the JSON Schema (yaml-language-server). The path is relative to the flow file. */
function schemaLine(flow: string, schema: string | undefined): string {
  if (schema === undefined) return '';
  const path = relative(dirname(resolve(flow)), resolve(schema)).replaceAll('\\', '/');
  // A path with spaces is written as a URL, because editors read the path only up to the first space.
  const place = /^https?:\/\//.test(schema) ? schema : /\s/.test(path) ? pathToFileURL(resolve(schema)).href : path;
  return `# yaml-language-server: $schema=${place}\n`;
}

function schemaNotes(schema: string | undefined): string[] {
  if (schema === undefined || /^https?:\/\//.test(schema) || statOf(schema)) return [];
  return [`there is no ${schema} yet; write it: automate schema --out ${shellWord(schema)}`];
}

/**
 * The flow's credits are counted under its name: the folder's, or the URL's host for a flow in the current folder. Undefined
 * if the host is an IP address or this machine, which does not say what the API is about.
 */
function flowName(folder: string, url: string | undefined): string | undefined {
  const host = url !== undefined && resolve(folder) === process.cwd() && URL.canParse(url) ? new URL(url).hostname : '';
  if (isLoopback(host) || isIP(host.replace(/^\[|\]$/g, ''))) return undefined;
  return host || basename(resolve(folder)) || 'flow';
}

async function exampleFor(options: InputOptions, terminal: Terminal): Promise<Example> {
  const name = options.in === '-' ? 'stdin' : options.in;
  const source = await openInput(options);
  try {
    source.notes.forEach(sayNote(terminal));
    refuseJoinedNames(name, source, options);
    return { name, ...(await readExample(source)) };
  } finally {
    await source.close();
  }
}

async function readExample(source: RecordSource): Promise<Omit<Example, 'name'>> {
  try {
    const fields = await firstRecord(source);
    return { columns: source.columns ?? [...(fields?.keys() ?? [])], fields };
  } catch (error) {
    // An unreadable record in the input is not reported here, because the run will report it.
    if (source.header) return { columns: source.header };
    throw error;
  }
}

/** Throws if one column name contains the names of several columns: the delimiter is wrong, and the flow would use wrong field names. */
function refuseJoinedNames(name: string, { header: columns }: RecordSource, { delimiter }: InputOptions): void {
  const other = columns && delimiter === undefined ? otherDelimiter(columns) : undefined;
  if (other === undefined) return;
  const facts = { code: 'other-delimiter', details: { delimiter: other } } as const;
  throw new AutomateError('usage', `${name} has one column, "${columns?.[0]}"`, facts);
}

async function firstRecord(source: RecordSource): Promise<Fields | undefined> {
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

function resultText(starter: Starter, path: string, options: InitOptions, written: WrittenOptions): string {
  const { credentials, notes } = starter;
  const isStream = options.in === undefined || options.in === '-';
  const { kind } = options.in === undefined ? usualFormat : inputFormat({ ...options, in: options.in });
  const input = isStream ? `rows.${kind}` : (options.in as string);
  const reading = [...written].flatMap(([name, words]) =>
    Object.hasOwn(inputOptions, name) && !(isStream && name === 'inFormat') ? words : [],
  );
  const formats = starter.needsAllowHttp ? [...reading, '--allow-http'] : reading;
  const command = (...words: readonly string[]) => `  ${['automate', ...words].map(shellWord).join(' ')}`;
  const unused = starter.usesFields
    ? []
    : [
        `it sends the same request for every record, because it uses no field: write a field where its value belongs, such as ${starter.reference}`,
      ];
  return [
    path,
    ...[...notes, ...unused].map((note) => `  ${note}`),
    ...credentials.map(({ note }) => `  ${note}`),
    isStream ? `next, with your records in ${input}:` : 'next:',
    ...credentials.map(({ name }) => command('credentials', 'set', name)),
    command('validate', path, '--in', input, ...formats),
    command('test-request', path, '--in', input, ...formats),
    command('run', path, '--in', input, ...formats, '--out', `out.${kind}`),
  ].join('\n');
}
