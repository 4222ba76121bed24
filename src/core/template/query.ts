import { orUndefined } from '../value/value.ts';

/** Decodes percent-encoding. Returns the text unchanged if the encoding is invalid. */
export function percentDecoded(text: string): string {
  return orUndefined(() => decodeURIComponent(text)) ?? text;
}

/** Removes a parameter from a query. Everything else stays unchanged, byte for byte. */
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

/** Appends an encoded parameter to the query of a URL's path. */
export function withQuery(path: string, parameter: string | undefined): string {
  if (parameter === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
}
