import { Document, isScalar } from 'yaml';
import { AutomateError } from '../core/failure.ts';
import { canHaveBody, httpMethods } from '../core/options/methods.ts';
import { percentDecoded } from '../core/template/url.ts';
import { parseJson } from '../core/value/json.ts';
import { isMapping, type ValuePath } from '../core/value/value.ts';
import type { JsonPart } from './json-parts.ts';

export type WrittenHeader = readonly [name: string, value: string];

/** A request from which a flow is generated, such as a request from a curl command or a recording. */
export interface WrittenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly WrittenHeader[];
  /** The body as JSON text; undefined if the body is empty, a form, or other text. */
  readonly body?: string;
  readonly form?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly auth?: readonly WrittenAuth[];
  readonly paginate?: WrittenPaging;
  readonly map?: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
  readonly retries?: number;
}

const ownHeaders = /^(?::.*|host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect|te|accept-encoding)$/i;

/** A request of another tool, and what the flow does not take over from it. */
export interface RequestWithNotes {
  readonly request: WrittenRequest;
  readonly notes: readonly string[];
}

export type WrittenPaging = Readonly<Record<string, string | number | undefined>>;

export type WrittenAuth = Readonly<Record<string, string | readonly string[] | JsonPart>>;

export interface WrittenNode {
  readonly type: 'http';
  readonly method?: string;
  readonly url: string;
  /** If there is only one way, the flow contains it without a list. */
  readonly auth?: readonly WrittenAuth[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly timeout?: string;
  readonly retry?: { readonly max: number };
  readonly paginate?: WrittenPaging;
  readonly map?: Readonly<Record<string, string>>;
}

/** Combines headers with the same name into one with a list of values (RFC 9110, 5.3). */
export function mergedHeaders(headers: readonly WrittenHeader[]): WrittenHeader[] {
  const byName = new Map<string, WrittenHeader>();
  for (const header of headers) {
    const key = header[0].toLowerCase();
    const [name, value] = byName.get(key) ?? header;
    byName.set(key, value === header[1] ? header : [name, [value, header[1]].join(key === 'cookie' ? '; ' : ', ')]);
  }
  return [...byName.values()];
}

export const formType = 'application/x-www-form-urlencoded';

/** Undefined if the text is not a form, or if a flow would send it differently. */
export function formIn(data: string): Record<string, string | string[]> | undefined {
  const form = new Map<string, string[]>();
  for (const pair of data.split('&')) {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === '') return undefined;
    form.set(queryDecoded(name), [...(form.get(queryDecoded(name)) ?? []), queryDecoded(value)]);
  }
  return Object.fromEntries([...form].map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]));
}

function queryDecoded(text: string): string {
  return percentDecoded(text.replaceAll('+', ' '));
}

/** Returns the node that sends a request. Throws an AutomateError (`usage`) if no flow can send the request. */
export function nodeOf(request: WrittenRequest): WrittenNode {
  const { url, auth, body, form, text, timeoutSeconds, retries, paginate, map } = request;
  const verb = verbOf(request);
  const sent = sentHeaders(request);
  return {
    type: 'http',
    method: verb === 'GET' ? undefined : verb,
    url,
    auth: auth?.length ? auth : undefined,
    ...(sent.size === 0 ? {} : { headers: Object.fromEntries(sent.values()) }),
    ...(body === undefined ? {} : { body: parsedBody(body) }),
    form,
    text,
    ...(timeoutSeconds === undefined ? {} : { timeout: durationOf(timeoutSeconds) }),
    ...(retries === undefined ? {} : { retry: { max: retries } }),
    paginate,
    map,
  };
}

function verbOf({ method, body, form, text }: WrittenRequest): string {
  const verb = method.toUpperCase();
  if (!httpMethods.some((name) => name === verb))
    throw unusableRequest(`expected an HTTP method such as GET or POST, found ${/^\w{1,20}$/.test(method) ? method : 'another method'}`);
  const hasBody = (body ?? form ?? text) !== undefined;
  if (hasBody && !canHaveBody(verb)) throw unusableRequest(`a ${verb} cannot have a body in a flow; POST, PUT or PATCH can have one`);
  return verb;
}

function sentHeaders({ headers, body, form, text }: WrittenRequest): Map<string, readonly [string, string]> {
  const implied =
    form !== undefined ? /^(?:application\/x-www-form-urlencoded$|multipart\/form-data\b)/i : /^application\/json(?:; *charset=utf-8)?$/i;
  const isImplied = (type: string) => (text !== undefined ? false : (body ?? form) === undefined || implied.test(type));
  const isOwn = ([name, value]: readonly [string, string]) =>
    ownHeaders.test(name) || (/^accept$/i.test(name) && value === '*/*') || (/^content-type$/i.test(name) && isImplied(value));
  return new Map(headers.filter((header) => !isOwn(header)).map((header) => [header[0].toLowerCase(), header]));
}

function durationOf(seconds: number): string {
  return Number.isInteger(seconds) ? `${seconds}s` : `${Math.ceil(seconds * 1000)}ms`;
}

/** Returns the body as a YAML value if that keeps the digits of all numbers, otherwise as text. */
function parsedBody(text: string): unknown {
  const value = parsedJson(text);
  const isSame = typeof value === 'object' && value !== null && JSON.stringify(value) === text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
  return isSame ? value : text;
}

function parsedJson(text: string): unknown {
  try {
    // parseJson throws if values are nested too deeply.
    parseJson(text);
    return JSON.parse(text);
  } catch {
    throw unusableRequest('expected a JSON body\nfor any other body, add a Content-Type header such as text/plain');
  }
}

/** `replacement` receives each string or number, and the last member name before it; undefined keeps the old text. */
export function withLiterals(json: string, replacement: (literal: string, name: string) => string | undefined): string {
  let name = 'body';
  return json.replace(/("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*/g, (found: string, text: string, colon?: string) => {
    if (colon === undefined) return replacement(found, name) ?? found;
    name = JSON.parse(text);
    return found;
  });
}

export interface WrittenBody {
  readonly part: Pick<WrittenRequest, 'body' | 'form' | 'text'>;
  readonly headers: readonly WrittenHeader[];
  readonly notes: readonly string[];
}

export const noBody: WrittenBody = { part: {}, headers: [], notes: [] };

export function sendableBody(body: WrittenBody, method: string): WrittenBody {
  if (Object.keys(body.part).length === 0 || canHaveBody(method)) return body;
  return { ...noBody, notes: [`the body was left out: a ${method} has none in a flow`] };
}

export function unusableRequest(message: string): AutomateError {
  return new AutomateError('usage', `the request cannot become a flow: ${message}`);
}

export interface WrittenHead {
  readonly name?: string;
  readonly description?: string;
  readonly columns?: Readonly<Record<string, string>>;
  readonly vars?: JsonPart;
}

/** Writes a flow as YAML. `examples` are the paths of values in the last node that are only examples, and therefore get a comment. */
export function yamlOf(
  nodes: readonly object[],
  { name, description, columns, vars }: WrittenHead = {},
  examples: readonly ValuePath[] = [],
): string {
  const flow = { name, description, columns, vars, nodes: nodes.map(withSingleAuth) };
  const document = new Document(flow, { aliasDuplicateObjects: false });
  markExamples(document, nodes.length - 1, examples);
  return document.toString({ lineWidth: 0 });
}

function withSingleAuth(node: object): object {
  const { auth } = node as WrittenNode;
  return auth?.length === 1 ? { ...node, auth: auth[0] } : node;
}

/** Returns a name in a form that fits into one line. Puts it in quotes if it contains unusual characters. */
export function plainName(name: string): string {
  return /^[\p{L}\p{M}\p{N}_ ./-]+$/u.test(name) ? name : JSON.stringify(name);
}

/** Returns those paths at which the node would send an example from the API's documentation unchanged, without a field or a credential. */
export function sentExamples(node: object, paths: readonly ValuePath[]): ValuePath[] {
  return paths.filter((path) => isSent(node, path));
}

function isSent(value: unknown, [step, ...rest]: ValuePath): boolean {
  // If the body is a single string, it contains all the values.
  if (typeof value === 'string') return step !== undefined || !value.includes('{{');
  if (step === undefined) return typeof value !== 'object' || value === null;
  if (Array.isArray(value)) return isSent(value[Number(step)], rest);
  return isMapping(value) && Object.hasOwn(value, step) && isSent(value[step], rest);
}

function markExamples(document: Document, node: number, paths: readonly ValuePath[]): void {
  for (const path of paths) {
    const found = document.getIn(['nodes', node, ...path], true);
    if (isScalar(found)) found.comment = ' an example: put {{field}} here';
  }
}

const maxNamed = 12;

export function exampleNotes(paths: readonly ValuePath[]): string[] {
  if (paths.length === 0) return [];
  const names = paths.slice(0, maxNamed).map((path) => path.reduce<string>(quotedPathTo, ''));
  const more = paths.length > maxNamed ? [`and ${paths.length - maxNamed} more`] : [];
  return [`examples, which every request would send: ${[...names, ...more].join(', ')}; replace each with {{field}}`];
}

/** Quotes more names than `pathTo`, because people who read the path need not know the rules. */
export function quotedPathTo(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  if (!/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(step)) return `${path}[${JSON.stringify(step)}]`;
  return path === '' ? step : `${path}.${step}`;
}
