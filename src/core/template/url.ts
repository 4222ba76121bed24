import type { Fields } from '../record.ts';
import { orUndefined, textOf, type Value } from '../value/value.ts';
import { checkedUrl, refuseDotSegments, targetOf, type UrlRules, urlFailure } from './target.ts';
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
      return { ...targetOf(text, rules), fromData: true };
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
