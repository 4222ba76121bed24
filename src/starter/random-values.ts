import { percentDecoded } from '../core/template/query.ts';
import { looksRandom } from '../core/template/token-text.ts';
import type { WrittenNode } from './written-node.ts';

/**
 * Returns a note for each value in a request that looks random, because it might be a secret with a harmless name. The notes do not contain
 * the values.
 */
export function randomValues({ url, headers = {}, body, form, text }: WrittenNode): string[] {
  const [address = '', query = ''] = url.split(/\?(.*)/s);
  const segments = address.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '').split('/');
  const found = [
    ...(segments.some((segment) => holdsRandom(percentDecoded(segment))) ? ["a part of the URL's path"] : []),
    ...query.split('&').flatMap((parameter) => {
      const [name = '', value = ''] = parameter.split(/=(.*)/s);
      return holdsRandom(percentDecoded(value)) ? [`the query parameter "${percentDecoded(name)}"`] : [];
    }),
    ...Object.entries(headers).flatMap(([name, value]) => (holdsRandom(value) ? [`the header "${name}"`] : [])),
    ...[body, form, text].flatMap((part) => randomIn(part, 'body')),
  ];
  return [...new Set(found)].map(
    (place) => `${place} looks random: if it is a secret, store it as a credential, and refer to the credential in the flow`,
  );
}

function randomIn(value: unknown, name: string): string[] {
  if (typeof value === 'string') return holdsRandom(value) ? [name === 'body' ? 'a value of the body' : `"${name}" in the body`] : [];
  if (Array.isArray(value)) return value.flatMap((member) => randomIn(member, name));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([own, member]) => (own === 'credential' ? [] : randomIn(member, own)));
}

function holdsRandom(text: string): boolean {
  return text
    .replace(/\{\{[^{}]*\}\}/g, ' ')
    .split(/[\s;,:="'&{}<>[\]()]+/)
    .some(looksRandom);
}
