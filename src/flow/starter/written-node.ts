import { stringify } from 'yaml';
import { AutomateError } from '../../core/failure.ts';
import { parseJson } from '../../core/value/json.ts';

/** A request as a person once made it. */
export interface WrittenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON; absent for none. */
  readonly body?: string;
  readonly timeoutSeconds?: number;
  readonly retries?: number;
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const withBody = ['POST', 'PUT', 'PATCH'];

/** Headers of the connection, and headers that are always sent. */
const ownHeaders = /^(?::.*|host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect|te|accept-encoding)$/i;

/** A way to sign a request, as a flow writes it. */
export type WrittenAuth = Readonly<Record<string, string>>;

/** An http node as a flow writes it. */
export interface WrittenNode {
  readonly type: 'http';
  readonly method?: string;
  readonly url: string;
  /** The ways to sign; written without the list if it is one. */
  readonly auth?: readonly WrittenAuth[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly timeout?: string;
  readonly retry?: { readonly max: number };
}

/** The node that sends a request. Throws an AutomateError (`usage`) for a request that no flow can send. */
export function nodeOf({ method, url, headers, body, timeoutSeconds, retries }: WrittenRequest): WrittenNode {
  const verb = method.toUpperCase();
  if (!methods.includes(verb))
    throw refusal(`expected one of ${methods.join(', ')}, found ${/^\w{1,20}$/.test(method) ? method : 'another method'}`);
  if (body !== undefined && !withBody.includes(verb)) throw refusal(`a ${verb} has no body in a flow; ${withBody.join(', ')} have one`);
  const isOwn = ([name, value]: readonly [string, string]) =>
    ownHeaders.test(name) ||
    (/^accept$/i.test(name) && value === '*/*') ||
    (/^content-type$/i.test(name) && (body === undefined || /^application\/json(?:; *charset=utf-8)?$/i.test(value)));
  const sent = new Map(headers.filter((header) => !isOwn(header)).map(([name, value]) => [name.toLowerCase(), [name, value] as const]));
  return {
    type: 'http',
    ...(verb === 'GET' ? {} : { method: verb }),
    url,
    ...(sent.size === 0 ? {} : { headers: Object.fromEntries(sent.values()) }),
    ...(body === undefined ? {} : { body: bodyOf(body) }),
    ...(timeoutSeconds === undefined ? {} : { timeout: durationOf(timeoutSeconds) }),
    ...(retries === undefined ? {} : { retry: { max: retries } }),
  };
}

function durationOf(seconds: number): string {
  return Number.isInteger(seconds) ? `${seconds}s` : `${Math.ceil(seconds * 1000)}ms`;
}

/** The body as YAML if that means the same, else as its text: numbers keep their digits. */
function bodyOf(text: string): unknown {
  const value = parsed(text);
  const isSame = typeof value === 'object' && value !== null && JSON.stringify(value) === text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
  return isSame ? value : text;
}

function parsed(text: string): unknown {
  try {
    // parseJson refuses values that are nested too deep.
    parseJson(text);
    return JSON.parse(text);
  } catch {
    throw refusal('expected a JSON body\nother data is written into the flow by hand: form: { name: value }, or text');
  }
}

/** Replaces literals in a JSON text. `replacement` gets every text and number, with the name before it. */
export function withLiterals(json: string, replacement: (literal: string, name: string) => string | undefined): string {
  let name = 'body';
  return json.replace(/("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*/g, (found: string, text: string, colon?: string) => {
    if (colon === undefined) return replacement(found, name) ?? found;
    name = JSON.parse(text);
    return found;
  });
}

/** The error of a request that cannot become a flow. */
export function refusal(message: string): AutomateError {
  return new AutomateError('usage', `--from-curl: ${message}`);
}

/** A flow as YAML. */
export function yamlOf(nodes: readonly object[], name?: string): string {
  return stringify(
    { ...(name !== undefined && { name }), nodes: nodes.map(withSingleAuth) },
    { lineWidth: 0, aliasDuplicateObjects: false },
  );
}

function withSingleAuth(node: object): object {
  const { auth } = node as WrittenNode;
  return auth?.length === 1 ? { ...node, auth: auth[0] } : node;
}
