import { Failure } from '../failure.ts';
import type { Fields } from '../record.ts';
import { orUndefined, textOf, type Value } from '../value/value.ts';
import { fieldOf, shellVariableAdvice, type TemplatePart, templateParts } from './template.ts';

interface Target {
  /** An origin such as `https://api.example.com`, with a port only if it is not the scheme's default. */
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** True if a record determined the host. Hosts inside the private network are then refused. */
  readonly fromData: boolean;
}

export interface UrlTemplate {
  /** The origin that is written literally in the flow; undefined if the record determines it. */
  readonly origin: string | undefined;
  render(fields: Fields): Target;
}

const absolute = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Compiles a URL that is absolute, or relative to the base URL. Throws an Error with the reason if the URL is refused. */
export function urlTemplate(text: string, rules: UrlRules): UrlTemplate {
  const parts = templateParts(underBase(text, rules.baseUrl));
  if (rules.baseUrl !== undefined && typeof templateParts(text)[0] === 'object') return eitherTemplate(text, rules);
  const skeleton = parts.map((part) => (typeof part === 'string' ? part : '\0')).join('');
  const start = /^(?:[^/?#]*:\/\/)?[^/?#]*/.exec(skeleton)?.[0] ?? '';
  if (start.includes('\0')) return dataOrigin(parts, start.length, rules);
  if (!absolute.test(start)) {
    throw new Error(`expected an absolute URL such as https://api.example.com/..., found "${text}"${shellVariableAdvice(text)}`);
  }
  return literalOrigin(parts, rules);
}

/** If the URL begins with a reference and there is a base URL, the result can be absolute, or a path under the base URL. */
function eitherTemplate(text: string, rules: UrlRules): UrlTemplate {
  const relative = urlTemplate(`/${text}`, rules);
  const whole = urlTemplate(text, { allowHttp: rules.allowHttp });
  const [first] = templateParts(text) as [{ field: string }];
  return {
    origin: relative.origin,
    render: (fields) => (absolute.test(textOf(fieldOf(fields, first.field))) ? whole : relative).render(fields),
  };
}

/**
 * Compiles a URL that is one reference to a field from an answer of the connection's own server, such as the address of a job. A value that
 * begins with `/` is a path of that server, and an absolute URL of that server does not count as a host from a record. Other values are
 * rendered as for every other field.
 */
export function answeredTemplate(text: string, rules: UrlRules): UrlTemplate {
  const other = urlTemplate(text, rules);
  const [{ field }] = templateParts(text) as [{ field: string }];
  const origin = other.origin as string;
  return {
    origin,
    render(fields) {
      const value = textOf(fieldOf(fields, field));
      // Rendered like another field, it would be a request to base_url itself.
      if (value === '') throw urlFailure(`expected a path or an absolute URL in "${field}", found nothing`);
      if (value.startsWith('/')) return { ...ownPath(value, origin, field), fromData: false };
      if (!absolute.test(value)) return other.render(fields);
      const whole = URL.canParse(value) && isUpgraded(new URL(value), origin) ? value.replace(/^http:\/\/[^/?#]*/i, origin) : value;
      const target = targetOf(whole, rules, `{{${field}}}`);
      return { ...target, fromData: target.origin !== origin };
    },
  };
}

function ownPath(path: string, origin: string, field: string): { origin: string; path: string } {
  if (path.startsWith('//'))
    throw urlFailure(`expected a path or an absolute URL in "${field}", found "${shortened(path)}", which names a host`);
  return targetOf(origin + path, { allowHttp: true }, `{{${field}}}`);
}

/** True for a link from https to http on the same host. Servers behind a proxy do not know that they are asked over https. */
export function isUpgraded({ protocol, port, hostname, username, password }: URL, from: string): boolean {
  const own = new URL(from);
  const isBare = port === '' && username === '' && password === '';
  return protocol === 'http:' && isBare && own.protocol === 'https:' && hostname === own.hostname;
}

function underBase(text: string, baseUrl: string | undefined): string {
  if (baseUrl === undefined || absolute.test(text)) return text;
  if (text === '' || text.startsWith('?')) return baseUrl + text;
  return `${baseUrl.replace(/\/+$/, '')}/${text.replace(/^\/+/, '')}`;
}

function literalOrigin(parts: TemplatePart[], rules: UrlRules): UrlTemplate {
  const sent = withoutFragment(parts);
  const mark = markNotIn(sent);
  const url = checkedUrl(sent.map((part) => (typeof part === 'string' ? part : mark)).join(''), rules, textOfParts(parts));
  const fields = sent.flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
  const [first = '', ...rest] = (url.pathname + url.search).split(mark);
  if (rest.length < fields.length) throw new Error('a ".." in the path removes the reference before it');
  const pathHasReference = url.pathname.includes(mark);
  const { origin } = url;
  return {
    origin,
    render(record) {
      let path = first;
      for (let i = 0; i < rest.length; i++) {
        path += encodedValue(fieldOf(record, fields[i] as string), fields[i] as string) + (rest[i] as string);
      }
      if (pathHasReference) refuseDotSegments(path);
      return { origin, path, fromData: false };
    },
  };
}

/** The fragment is not sent. */
function withoutFragment(parts: TemplatePart[]): TemplatePart[] {
  const last = parts.findIndex((part) => typeof part === 'string' && part.includes('#'));
  if (last < 0) return parts;
  return [...parts.slice(0, last), (parts[last] as string).replace(/#.*$/s, '')];
}

/** Stands for each reference while the URL is parsed. It is not in the URL, and the URL parser leaves it unchanged. */
function markNotIn(parts: TemplatePart[]): string {
  let mark = 'reference';
  while (parts.some((part) => typeof part === 'string' && part.includes(mark))) mark += '0';
  return mark;
}

function textOfParts(parts: TemplatePart[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : `{{${part.field}}}`)).join('');
}

function dataOrigin(parts: TemplatePart[], originLength: number, rules: UrlRules): UrlTemplate {
  let offset = 0;
  const pieces = parts.map((part) => {
    const inOrigin = offset < originLength;
    offset += typeof part === 'string' ? part.length : 1;
    return { part, inOrigin };
  });
  const field = pieces.flatMap(({ part, inOrigin }) => (inOrigin && typeof part !== 'string' ? [part.field] : []))[0];
  return {
    origin: undefined,
    render(record) {
      let text = '';
      for (const { part, inOrigin } of pieces) {
        if (typeof part === 'string') text += part;
        else {
          const value = fieldOf(record, part.field);
          text += inOrigin ? textOf(value) : encodedValue(value, part.field);
        }
      }
      return { ...targetOf(text, rules, `{{${field}}}`), fromData: true };
    },
  };
}

function encodedValue(value: Value, field: string): string {
  const text = textOf(value);
  if (!text.isWellFormed()) throw urlFailure(`the field "${field}" contains a broken character (a lone surrogate)`);
  return encodeURIComponent(text);
}

/** Decodes percent-encoding. Returns the text unchanged if the encoding is invalid. */
export function percentDecoded(text: string): string {
  return orUndefined(() => decodeURIComponent(text)) ?? text;
}

/** Everything else stays unchanged, byte for byte. */
export function withoutParameter(search: string, name: string): string {
  const pairs = search.replace(/^\?/, '').split('&');
  return pairs.filter((pair) => !new URLSearchParams(pair).has(name)).join('&');
}

/** Sets a parameter in the query of a URL's path, and removes other parameters with the same name. */
export function withParameter(path: string, name: string, value: string): string {
  const [start, query = ''] = path.split(/\?(.*)/s) as [string, string?];
  const others = withoutParameter(query, name);
  return `${start}?${others === '' ? '' : `${others}&`}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

/** The parameter is already encoded. */
export function withQuery(path: string, parameter: string | undefined): string {
  if (parameter === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
}

interface UrlRules {
  /** The base URL of the connection; undefined if relative URLs are not allowed. */
  readonly baseUrl?: string;
  readonly allowHttp: boolean;
}

/** Throws a Failure if the text is not an absolute https URL. `written` is the place where a person can correct it, for messages. */
export function targetOf(text: string, rules: UrlRules, written = 'it'): { origin: string; path: string } {
  refuseUnencoded(text, written);
  if (!text.isWellFormed()) throw urlFailure('the URL contains a broken character (a lone surrogate)');
  if (!/^https?:\/\//i.test(text)) throw urlFailure(`expected an absolute https URL, found "${shortened(text)}"`);
  try {
    const url = checkedUrl(text, rules);
    refuseDotSegments(text);
    return { origin: url.origin, path: url.pathname + url.search };
  } catch (error) {
    throw error instanceof Failure ? error : urlFailure((error as Error).message);
  }
}

/** URL parsing would drop or replace these characters silently. Throws a Failure. */
function refuseUnencoded(text: string, written: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it finds control characters
  const at = text.search(/[\x00-\x20\x7f\\]/);
  if (at < 0) return;
  const found = text[at] as string;
  const names: Readonly<Record<string, string>> = { ' ': 'a space', '\\': 'a backslash' };
  const name = names[found] ?? `the control character U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  const advice = `write ${written} percent-encoded, with ${encodeURIComponent(found)} for ${name}, or remove the character`;
  throw urlFailure(`the URL "${shortened(text)}" contains ${name} at character ${at + 1}\n${advice}`);
}

/** Matches a URL without a host. The URL parser would use the first segment of the path as the host. */
const hostless = /^[^:/?#]*:\/\/[/?#]/;

/** `shown` is the URL for messages. Throws a Failure (`plain-http`) for http://, and an Error with the reason for any other mistake. */
function checkedUrl(text: string, rules: UrlRules, shown = text): URL {
  if (!URL.canParse(text) || hostless.test(text)) throw new Error(`not a valid URL: "${shortened(shown)}"${shellVariableAdvice(shown)}`);
  const url = new URL(text);
  const advice = shellVariableAdvice(url.hostname);
  if (advice !== '') throw new Error(`not a valid URL: "${shortened(shown)}"${advice}`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new Error(`expected an https URL, found the scheme "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('a URL must not contain a user name or password\nuse auth: { type: basic, credential: NAME }');
  }
  if (url.protocol === 'http:' && !rules.allowHttp && !isLoopback(url.hostname)) {
    const message = `expected an https URL, found ${url.origin}\nto allow plain HTTP, set allow_http: true on the connection`;
    throw new Failure('request', message, { sent: false, code: 'plain-http', details: {} });
  }
  return url;
}

/** True for a host name or IP address of the local machine, also as an IPv4 address in IPv6 (`[::ffff:7f00:1]`). */
export function isLoopback(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost\.?|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/i.test(hostname);
}

/** The URL parser resolves `.` and `..`, so a record could leave the path that the flow specifies. Throws a Failure. */
function refuseDotSegments(url: string): void {
  if (!/^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(url)) return;
  const path = url.replace(/[?#].*$/s, '');
  throw urlFailure(`a path segment must not be "." or "..", found in ${shortened(path)}`);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text;
}

function urlFailure(message: string): Failure {
  return new Failure('request', message, { sent: false });
}
