import { orUndefined } from '../value/value.ts';

/** The text without percent-encoding. Unchanged if the encoding is broken. */
export function percentDecoded(text: string): string {
  return orUndefined(() => decodeURIComponent(text)) ?? text;
}

/** A query without a parameter. The rest stays byte for byte. */
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

/** A path with an encoded parameter at the end of its query. */
export function withQuery(path: string, parameter: string | undefined): string {
  if (parameter === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
}
