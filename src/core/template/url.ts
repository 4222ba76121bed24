import { Failure } from '../failure.ts';
import type { Fields } from '../record.ts';
import { textOf, type Value } from '../value/value.ts';
import { fieldOf, type Part, templateParts } from './template.ts';

/** Where a request goes. */
export interface Target {
  /** `https://api.example.com`, with a port only where it is not the scheme's own. */
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Whether a record decided the host: then addresses inside the network are refused. */
  readonly fromData: boolean;
}

/** What the flow and the command line say of URLs. */
export interface UrlRules {
  /** The connection's base URL; relative URLs need one. */
  readonly baseUrl?: string | undefined;
  readonly allowHttp: boolean;
}

/** A URL that records are rendered into. */
export interface UrlTemplate {
  /** The origin that the flow names literally; absent when a record decides it. */
  readonly origin: string | undefined;
  render(fields: Fields): Target;
}

const absolute = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Compiles a URL, absolute or relative to the base URL. Throws an Error whose message says what is wrong with it. */
export function urlTemplate(text: string, rules: UrlRules): UrlTemplate {
  const parts = templateParts(joined(text, rules.baseUrl));
  if (rules.baseUrl !== undefined && typeof templateParts(text)[0] === 'object') return eitherTemplate(text, rules);
  const skeleton = parts.map((part) => (typeof part === 'string' ? part : '\0')).join('');
  const start = /^(?:[^/?#]*:\/\/)?[^/?#]*/.exec(skeleton)?.[0] ?? '';
  if (start.includes('\0')) return dataOrigin(parts, start.length, rules);
  if (!absolute.test(start)) {
    throw new Error(`expected an absolute URL such as https://api.example.com/..., found "${text}"`);
  }
  return literalOrigin(parts, rules);
}

/** Starts with a reference under a base URL: an absolute URL when the record says so, otherwise a path under the base. */
function eitherTemplate(text: string, rules: UrlRules): UrlTemplate {
  const relative = urlTemplate(`/${text}`, rules);
  const whole = urlTemplate(text, { allowHttp: rules.allowHttp });
  const [first] = templateParts(text) as [{ field: string }];
  return {
    origin: relative.origin,
    render: (fields) => (absolute.test(textOf(fieldOf(fields, first.field))) ? whole : relative).render(fields),
  };
}

function joined(text: string, baseUrl: string | undefined): string {
  if (baseUrl === undefined || absolute.test(text)) return text;
  if (text === '' || text.startsWith('?')) return baseUrl + text;
  return `${baseUrl.replace(/\/+$/, '')}/${text.replace(/^\/+/, '')}`;
}

function literalOrigin(parts: Part[], rules: UrlRules): UrlTemplate {
  const sent = withoutFragment(parts);
  const mark = markNotIn(sent);
  const url = checkedUrl(sent.map((part) => (typeof part === 'string' ? part : mark)).join(''), rules, textOfParts(parts));
  const fields = sent.flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
  const [first = '', ...rest] = (url.pathname + url.search).split(mark);
  if (rest.length < fields.length) throw new Error('a ".." in the path takes away the reference before it');
  const pathHasReference = url.pathname.includes(mark);
  const { origin } = url;
  return {
    origin,
    render(record) {
      let path = first;
      for (let i = 0; i < rest.length; i++) {
        path += encoded(fieldOf(record, fields[i] as string), fields[i] as string) + (rest[i] as string);
      }
      if (pathHasReference) refuseDotSegments(path);
      return { origin, path, fromData: false };
    },
  };
}

/** What stands behind a # is not sent. */
function withoutFragment(parts: Part[]): Part[] {
  const last = parts.findIndex((part) => typeof part === 'string' && part.includes('#'));
  if (last < 0) return parts;
  return [...parts.slice(0, last), (parts[last] as string).replace(/#.*$/s, '')];
}

/** A text that URL parsing leaves alone, to stand for a reference. */
function markNotIn(parts: Part[]): string {
  let mark = 'reference';
  while (parts.some((part) => typeof part === 'string' && part.includes(mark))) mark += '0';
  return mark;
}

function textOfParts(parts: Part[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : `{{${part.field}}}`)).join('');
}

function dataOrigin(parts: Part[], originLength: number, rules: UrlRules): UrlTemplate {
  let offset = 0;
  const pieces = parts.map((part) => {
    const inOrigin = offset < originLength;
    offset += typeof part === 'string' ? part.length : 1;
    return { part, inOrigin };
  });
  return {
    origin: undefined,
    render(record) {
      let text = '';
      for (const { part, inOrigin } of pieces) {
        if (typeof part === 'string') text += part;
        else {
          const value = fieldOf(record, part.field);
          text += inOrigin ? textOf(value) : encoded(value, part.field);
        }
      }
      return { ...targetOf(text, rules), fromData: true };
    },
  };
}

/** Where a rendered URL leads. Throws a Failure when it is no absolute https URL. */
export function targetOf(text: string, rules: UrlRules): { origin: string; path: string } {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: URL parsing would drop them silently
  if (/[\x00-\x20\x7f\\]/.test(text)) throw refused(`the URL "${shortened(text)}" holds a space, a backslash or a control character`);
  if (!text.isWellFormed()) throw refused('the URL holds a broken character (a lone surrogate)');
  if (!/^https?:\/\//i.test(text)) throw refused(`expected an absolute https URL, found "${shortened(text)}"`);
  try {
    const url = checkedUrl(text, rules);
    refuseDotSegments(text);
    return { origin: url.origin, path: url.pathname + url.search };
  } catch (error) {
    throw error instanceof Failure ? error : refused((error as Error).message);
  }
}

/** URL parsing would take the first segment of the path for the host. */
const hostless = /^[^:/?#]*:\/\/[/?#]/;

function checkedUrl(text: string, rules: UrlRules, shown = text): URL {
  if (!URL.canParse(text) || hostless.test(text)) throw new Error(`not a valid URL: "${shortened(shown)}"`);
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Error(`expected an https URL, found the scheme "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('a URL must not hold a user name or password; use auth: { type: basic, credential: NAME }');
  }
  if (url.protocol === 'http:' && !rules.allowHttp && !isLoopback(url.hostname)) {
    throw new Error(
      `expected an https URL, found ${url.origin}\nset allow_http: true on the connection, or pass --allow-http, if plain HTTP is what you want`,
    );
  }
  return url;
}

/** Whether a host's name or address is this machine itself. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname) || hostname.endsWith('.localhost');
}

/** The text without percent-encoding; as it is where that is broken. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A query without a parameter. The rest of it stays as it is, byte for byte. */
export function withoutParameter(search: string, name: string): string {
  const pairs = search.replace(/^\?/, '').split('&');
  return pairs.filter((pair) => !new URLSearchParams(pair).has(name)).join('&');
}

/** A path whose query has a parameter with this value, and no other of its name. */
export function withParameter(path: string, name: string, value: string): string {
  const [start, query = ''] = path.split(/\?(.*)/s) as [string, string?];
  const others = withoutParameter(query, name);
  return `${start}?${others === '' ? '' : `${others}&`}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

/** A path with a parameter, already encoded, at the end of its query. */
export function withQuery(path: string, query: string | undefined): string {
  if (query === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

function encoded(value: Value, field: string): string {
  const text = textOf(value);
  if (!text.isWellFormed()) throw refused(`the field "${field}" holds a broken character (a lone surrogate)`);
  return encodeURIComponent(text);
}

/** URL parsing removes such segments, so a record could leave the path that the flow names. */
function refuseDotSegments(url: string): void {
  const path = url.replace(/[?#].*$/s, '');
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) throw refused(`a path segment must not be "." or "..", found in ${shortened(path)}`);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text;
}

function refused(message: string): Failure {
  return new Failure('request', message, { sent: false });
}
