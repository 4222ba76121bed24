import type { Fields } from '../core/record.ts';
import { referencedFields } from '../core/template.ts';
import type { Value } from '../core/value.ts';
import type { WrittenNode } from './written-node.ts';

/** The records that a flow is to be run on. */
export interface Example {
  readonly name: string;
  readonly columns: readonly string[];
  /** The first record; absent where there is none. */
  readonly fields?: Fields | undefined;
}

/** A node that takes values from the records. */
export interface Referring {
  readonly node: WrittenNode;
  readonly notes: readonly string[];
  /** The fields that need another name to be referred to, by their own; absent for none. */
  readonly renamed: Readonly<Record<string, string>> | undefined;
}

/** The node with `{{field}}` wherever a whole segment, parameter or text of a body is what the first record has in that field. */
export function withReferences(node: WrittenNode, example: Example | undefined): Referring {
  const used = new Set<string>();
  const columns = example?.columns ?? [];
  const references = columns.map((column) => ({ column, name: referableName(column, columns), value: example?.fields?.get(column) }));
  const url = inUrl(node.url, (text) => refer(({ value }) => value !== null && typeof value !== 'object' && String(value) === text));
  const body = node.body === undefined ? {} : { body: inBody(node.body) };
  const notes = [...used].map((column) => `${nameOf(column) ?? ''} is in place of the first record's ${column}`);
  const names = referencedFields(JSON.stringify([url, node.headers, body]));
  const missing = references.filter(({ column, name }) => column !== name && names.includes(name));
  return {
    node: { ...node, url, ...body },
    notes,
    renamed: missing.length === 0 ? undefined : Object.fromEntries(missing.map(({ column, name }) => [column, name])),
  };

  function refer(isIt: (reference: { readonly value: Value | undefined }) => boolean): string | undefined {
    const found = references.find((reference) => reference.value !== undefined && reference.value !== '' && isIt(reference));
    if (!found) return undefined;
    used.add(found.column);
    return `{{${found.name}}}`;
  }

  function nameOf(column: string): string | undefined {
    const name = references.find((reference) => reference.column === column)?.name;
    return name === undefined ? undefined : `{{${name}}}`;
  }

  function inBody(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(inBody);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inBody(member)]));
    return refer((reference) => reference.value === value) ?? value;
  }
}

/** Only letters, digits and underscores make a name that can be referred to. */
export function referableName(column: string, columns: readonly string[]): string {
  if (/^[\p{L}\p{M}\p{N}_]+$/u.test(column)) return column;
  const better = column.replace(/[^\p{L}\p{M}\p{N}_]+/gu, '_').replace(/^_+|_+$/g, '') || 'field';
  return columns.includes(better) ? referableName(`${better}_2`, columns) : better;
}

/** The host is not touched: who is asked is not for a record to say. */
function inUrl(url: string, refer: (text: string) => string | undefined): string {
  const [, start = '', path = '', query] = /^([a-z][a-z\d+.-]*:\/\/[^/?]*)([^?]*)(?:\?(.*))?$/is.exec(url) ?? [];
  if (start === '') return url;
  const segments = path.split('/').map((segment) => refer(decoded(segment)) ?? segment);
  const parameters = query?.split('&').map((parameter) => {
    const [name = '', value] = parameter.split(/=(.*)/s);
    const reference = value === undefined ? undefined : refer(decoded(value.replaceAll('+', ' ')));
    return reference === undefined ? parameter : `${name}=${reference}`;
  });
  return start + segments.join('/') + (parameters === undefined ? '' : `?${parameters.join('&')}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
