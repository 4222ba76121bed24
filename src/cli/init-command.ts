import { mkdir, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { AutomateError } from '../core/failure.ts';
import { otherDelimiter, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import type { InputOptions } from '../core/run-options.ts';
import { referableNames } from '../core/template/template.ts';
import { isLoopback } from '../core/template/url.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import type { ValuePath } from '../core/value/value.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { isRegularFile } from '../output/sink.ts';
import { usualFormat } from '../records/formats.ts';
import { hasTextCells, inputFormat, openInput, withToldFormat } from '../records/inputs.ts';
import type { RecordSource } from '../records/source.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { checkHeader, loadFlow } from '../run/flow-file.ts';
import type { JsonPart } from '../starter/json-parts.ts';
import type { KnownSecrets } from '../starter/known-secrets.ts';
import type { AnswerExample } from '../starter/openapi/described-answer.ts';
import { type About, type Starter, starterFlow, type UrlBase } from '../starter/starter.ts';
import type { Example } from '../starter/starter-references.ts';
import type { CredentialToStore } from '../starter/starter-secrets.ts';
import type { WrittenRequest } from '../starter/written-node.ts';
import { curlRequest } from './curl.ts';
import type { WrittenOptions } from './options.ts';
import { inputOptions, type ReadingOptions } from './shared-options.ts';
import { printWarnings } from './show/problems.ts';
import { sayFormat, sayNote, type Terminal } from './terminal.ts';

interface InitOptions extends ReadingOptions {
  readonly fromCurl?: string;
  readonly fromOpenapi?: string;
  readonly operation?: string;
  readonly fromHar?: string;
  readonly entry?: number;
  readonly fromPostman?: string;
  readonly request?: string;
  readonly in?: string;
  readonly schema?: string;
  readonly force?: boolean;
}

/** Creates the folder if necessary. */
export async function initCommand(folder: string, given: InitOptions, written: WrittenOptions, terminal: Terminal): Promise<number> {
  const path = join(folder, 'flow.yaml').replace(/^-/, './-');
  checkSources(given);
  const list = await requestList(given, terminal);
  if (list !== undefined) {
    await terminal.print(list);
    return exitCodes.success;
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
  const notes = [...source.notes, ...made.notes, ...schemaNotes(options.schema)];
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
    const { writeFirstTest } = await import('./init-test.ts');
    const { answer, samples } = source;
    await writeFirstTest(path, { plan, answer, samples, fields: example?.fields, allowHttp: starter.needsAllowHttp }, terminal);
  }
  return exitCodes.success;
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

/**
 * Throws if one column name contains the names of several columns. The delimiter is then wrong, and the flow would use wrong field names.
 */
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

interface SourceRequest {
  readonly request: WrittenRequest;
  /** Records whose fields still have to be inserted into the request. */
  readonly example: Example | undefined;
  /** Parts of the source (such as a curl command) that the flow does not include. */
  readonly notes: readonly string[];
  /** False if the URL's host is only a placeholder. */
  readonly isNamedByHost: boolean;
  readonly description?: string;
  readonly comments?: readonly string[];
  readonly examples?: readonly ValuePath[];
  readonly credentials?: readonly CredentialToStore[];
  /** True if the request needs a field that is not a column of the input. A note then says so. */
  readonly lacksColumns?: boolean;
  readonly answer?: AnswerExample;
  readonly samples?: ReadonlyMap<string, unknown>;
  readonly secrets?: KnownSecrets;
  readonly vars?: JsonPart;
  readonly base?: UrlBase | undefined;
  readonly computed?: About['computed'] | undefined;
}

/** `example` contains records of the input; undefined without an input. `isText` is true if all fields are strings. */
type RequestSource = (example: Example | undefined, isText: boolean) => SourceRequest | Promise<SourceRequest>;

const sourceOptions = {
  fromCurl: '--from-curl',
  fromOpenapi: '--from-openapi',
  fromHar: '--from-har',
  fromPostman: '--from-postman',
} as const;

/** The options that choose a request in a file, with the options that name this file. */
const choices = { operation: 'fromOpenapi', entry: 'fromHar', request: 'fromPostman' } as const;

/** Throws an AutomateError (`usage`) for two sources, or for two uses of stdin. */
function checkSources(given: InitOptions): void {
  const [first, second] = Object.entries(sourceOptions).flatMap(([name, option]) =>
    given[name as keyof InitOptions] === undefined ? [] : [option],
  );
  if (second !== undefined) throw new AutomateError('usage', `expected ${first} or ${second}, found both`);
  for (const [name, source] of Object.entries(choices)) {
    if (given[name as keyof typeof choices] !== undefined && given[source] === undefined)
      throw new AutomateError('usage', `--${name} works only with ${sourceOptions[source]} FILE`);
  }
  if (given.in === '-' && given.fromCurl === '-')
    throw new AutomateError('usage', '--in and --from-curl both read stdin; only one of them can');
}

/** The requests in a file from which nobody has chosen one; undefined if nothing is to be listed. */
async function requestList({ fromHar, entry, fromPostman, request }: InitOptions, { width }: Terminal): Promise<string | undefined> {
  if (fromHar !== undefined && entry === undefined) {
    const { harListing, readHarFile } = await import('./har-file.ts');
    return harListing(await readHarFile(fromHar), fromHar, width);
  }
  if (fromPostman === undefined || request !== undefined) return undefined;
  const { collectionListing, readCollectionFile } = await import('./postman-file.ts');
  return collectionListing(await readCollectionFile(fromPostman), fromPostman, width);
}

/** Throws an AutomateError (`usage`) if the source contains no request that a flow can send. */
async function requestSource({
  fromCurl,
  fromOpenapi,
  operation,
  fromHar,
  entry,
  fromPostman,
  request,
}: InitOptions): Promise<RequestSource> {
  if (fromCurl !== undefined) {
    const read = curlRequest(fromCurl === '-' ? await textOf(process.stdin) : fromCurl);
    return (example) => ({ ...read, example, isNamedByHost: true });
  }
  if (fromOpenapi !== undefined) {
    const { operationSource } = await import('./openapi-file.ts');
    const requestFor = await operationSource(fromOpenapi, operation);
    // Fields of the records are matched by name only, because the values in the API's example do not come from a record.
    return (example, isText) => ({
      ...requestFor(example, isText),
      example: example && { ...example, fields: undefined },
      isNamedByHost: true,
    });
  }
  if (fromHar !== undefined && entry !== undefined) {
    const { harEntry, harSource, readHarFile } = await import('./har-file.ts');
    const har = await readHarFile(fromHar);
    const chosen = harEntry(har, entry, fromHar);
    return async (example) => ({ ...(await harSource(har, chosen, fromHar, fieldsOf(example))), example, isNamedByHost: true });
  }
  if (fromPostman !== undefined && request !== undefined) {
    const { readCollectionFile, requestNamed, postmanSource } = await import('./postman-file.ts');
    const collection = await readCollectionFile(fromPostman);
    const chosen = requestNamed(collection, request, fromPostman);
    return async (example) => ({ ...(await postmanSource(collection, chosen, example)), example, isNamedByHost: true });
  }
  return (example) => ({ request: defaultRequest(example), example, notes: [], isNamedByHost: false });
}

/** The names of the fields of the records, in the input and in the flow. */
function fieldsOf(example: Example | undefined): string[] {
  return [...referableNames(example?.columns ?? [])].flat();
}

/** Fetches one item. The item's id is the first field that looks like an id, or else the first field. */
function defaultRequest(example: Example | undefined): WrittenRequest {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const column = columns.find((name) => /^id$/i.test(name)) ?? columns.find((name) => /[_-]id$/i.test(name)) ?? columns[0] ?? 'id';
  return { method: 'GET', url: `https://api.example.com/items/{{${names.get(column) ?? column}}}`, headers: [] };
}
