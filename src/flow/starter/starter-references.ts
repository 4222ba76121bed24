import type { Fields } from '../../core/record.ts';
import { percentDecoded } from '../../core/template/query.ts';
import { isReferable, referable, referencedFields } from '../../core/template/template.ts';
import { ExactNumber, textOf, type Value } from '../../core/value/value.ts';
import { type WrittenNode, withLiterals } from './written-node.ts';

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
  const references = [...referableNames(columns)].map(([column, name]) => ({ column, name, value: example?.fields?.get(column) }));
  const url = inUrl(node.url, (text) => refer((value) => textOf(value) === text));
  const body = node.body === undefined ? {} : { body: typeof node.body === 'string' ? inText(node.body) : inBody(node.body) };
  const notes = references.flatMap(({ column, name }) =>
    used.has(column) ? [`{{${name}}} is in place of the first record's ${plainName(column)}`] : [],
  );
  const names = referencedFields(JSON.stringify([url, node.headers, body]));
  const missing = references.filter(({ column, name }) => column !== name && names.includes(name));
  return {
    node: { ...node, url, ...body },
    notes,
    renamed: missing.length === 0 ? undefined : Object.fromEntries(missing.map(({ column, name }) => [column, name])),
  };

  function refer(isIt: (value: Value) => boolean): string | undefined {
    const found = references.find(({ value }) => value !== undefined && isTelling(value) && isIt(value));
    if (!found) return undefined;
    used.add(found.column);
    return `{{${found.name}}}`;
  }

  function inBody(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(inBody);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inBody(member)]));
    return refer((own) => own === value) ?? value;
  }

  function inText(json: string): string {
    return withLiterals(json, (literal) => {
      const reference = literal.startsWith('"') ? refer((own) => own === JSON.parse(literal)) : undefined;
      return reference === undefined ? undefined : `"${reference}"`;
    });
  }
}

/** Whether a value can tell what it is: what is empty, true or false is so in many places. */
function isTelling(value: Value): boolean {
  return value !== '' && (['string', 'number'].includes(typeof value) || value instanceof ExactNumber);
}

/** The names by which columns can be referred to, each its own: only letters, digits and underscores make one. */
export function referableNames(columns: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(columns);
  const names = new Map<string, string>();
  for (const column of columns) {
    if (column !== '') names.set(column, isReferable(column) ? column : nameFor(column));
  }
  return names;

  function nameFor(column: string): string {
    const better = referable(column) || 'field';
    let name = better;
    for (let count = 2; taken.has(name); count++) name = `${better}_${count}`;
    taken.add(name);
    return name;
  }
}

/** A name that cannot leave its line. */
export function plainName(name: string): string {
  return /^[\p{L}\p{M}\p{N}_ ./-]+$/u.test(name) ? name : JSON.stringify(name);
}

/** The host is not touched: who is asked is not for a record to say. */
function inUrl(url: string, refer: (text: string) => string | undefined): string {
  const [, start = '', path = '', query] = /^([a-z][a-z\d+.-]*:\/\/[^/?]*)([^?]*)(?:\?(.*))?$/is.exec(url) ?? [];
  if (start === '') return url;
  const segments = path.split('/').map((segment) => refer(percentDecoded(segment)) ?? segment);
  const parameters = query?.split('&').map((parameter) => {
    const [name = '', value] = parameter.split(/=(.*)/s);
    const reference = value === undefined ? undefined : refer(percentDecoded(value.replaceAll('+', ' ')));
    return reference === undefined ? parameter : `${name}=${reference}`;
  });
  return start + segments.join('/') + (parameters === undefined ? '' : `?${parameters.join('&')}`);
}
