import { isCelName } from '../../core/condition/cel-name.ts';
import type { Fields } from '../../core/record.ts';
import { percentDecoded } from '../../core/template/query.ts';
import { isReferable, referable, referencedFields } from '../../core/template/template.ts';
import { ExactNumber, textOf, type Value } from '../../core/value/value.ts';
import { type WrittenNode, withLiterals } from './written-node.ts';

/** The records for which a flow is generated. */
export interface Example {
  readonly name: string;
  readonly columns: readonly string[];
  /** The fields of the first record; undefined if the input is empty. */
  readonly fields?: Fields | undefined;
}

/** A node in which record fields have replaced values. */
export interface Referring {
  readonly node: WrittenNode;
  readonly notes: readonly string[];
  /** New names for fields whose names cannot be written in a reference, keyed by the old names; undefined if there are no such fields. */
  readonly renamed: Readonly<Record<string, string>> | undefined;
}

/**
 * Replaces each URL segment, parameter and string in the body that equals a field of the first record with `{{field}}`. A number in the
 * body stays a number: if a field contains the same number as a string, it becomes `{ cel: int(field) }`.
 */
export function withReferences(node: WrittenNode, example: Example | undefined): Referring {
  const used = new Set<string>();
  const columns = example?.columns ?? [];
  const references = [...referableNames(columns)].map(([column, name]) => ({ column, name, value: example?.fields?.get(column) }));
  const url = inUrl(node.url, referToText);
  const body = node.body === undefined ? {} : { body: typeof node.body === 'string' ? inText(node.body) : inBody(node.body, inJson) };
  const form = node.form === undefined ? {} : { form: inBody(node.form, inForm) as Readonly<Record<string, unknown>> };
  const notes = references.flatMap(({ column, name }) =>
    used.has(column) ? [`{{${name}}} replaces the first record's ${plainName(column)}`] : [],
  );
  const names = fieldsOf({ ...node, url, ...body, ...form });
  const missing = references.filter(({ column, name }) => column !== name && names.includes(name));
  return {
    node: { ...node, url, ...body, ...form },
    notes,
    renamed: missing.length === 0 ? undefined : Object.fromEntries(missing.map(({ column, name }) => [column, name])),
  };

  function refer(matches: (value: Value) => boolean): string | undefined {
    const found = references.find(({ value }) => value !== undefined && isDistinct(value) && matches(value));
    if (!found) return undefined;
    used.add(found.column);
    return `{{${found.name}}}`;
  }

  function inBody(value: unknown, find: (leaf: unknown) => unknown): unknown {
    if (Array.isArray(value)) return value.map((member) => inBody(member, find));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inBody(member, find)]));
    return find(value) ?? value;
  }

  function inJson(written: unknown): unknown {
    const reference = referTo(written);
    if (reference !== undefined || typeof written !== 'number') return reference;
    const cell = refer((value) => value === String(written));
    return cell && asNumber(cell.slice(2, -2), Number.isInteger(written) ? 'int' : 'double');
  }

  /** Returns the reference for a string in a form; undefined if no field equals it. Unlike in JSON, the string can also equal a number. */
  function inForm(written: unknown): string | undefined {
    return typeof written === 'string' ? referToText(written) : undefined;
  }

  function inText(json: string): string {
    return withLiterals(json, (literal) => {
      if (!literal.startsWith('"')) return referToText(literal);
      const reference = referTo(JSON.parse(literal));
      return reference === undefined ? undefined : `"${reference}"`;
    });
  }

  function referToText(text: string): string | undefined {
    return refer((value) => textOf(value) === text);
  }

  function referTo(value: unknown): string | undefined {
    return refer((own) => own === value);
  }
}

/** Returns the fields that a node takes from the records, as `{{field}}` or as `{ cel: int(field) }`. */
export function fieldsOf(node: WrittenNode): string[] {
  const text = JSON.stringify(node);
  return [...referencedFields(text), ...[...text.matchAll(/\{"cel":"\w+\((\w+)\)/g)].map(([, name = '']) => name)];
}

/** Returns the body value that inserts a field as a number, or as a string if CEL cannot refer to the field's name. */
function asNumber(field: string, convert: 'int' | 'double'): unknown {
  return isCelName(field) ? { cel: `${convert}(${field})` } : `{{${field}}}`;
}

/**
 * True if a value is specific enough to identify its field. Empty strings, true and false are not specific, because many fields contain
 * them.
 */
function isDistinct(value: Value): boolean {
  return value !== '' && (['string', 'number'].includes(typeof value) || value instanceof ExactNumber);
}

/** Returns a unique name for each column that a reference can contain. Such a name has only letters, digits and underscores. */
export function referableNames(columns: readonly string[]): ReadonlyMap<string, string> {
  const used = new Set(columns);
  const names = new Map<string, string>();
  for (const column of columns) {
    if (column !== '') names.set(column, isReferable(column) ? column : nameFor(column));
  }
  return names;

  function nameFor(column: string): string {
    const better = referable(column) || 'field';
    let name = better;
    for (let count = 2; used.has(name); count++) name = `${better}_${count}`;
    used.add(name);
    return name;
  }
}

/** Returns a name in a form that fits into one line. Puts it in quotes if it contains unusual characters. */
export function plainName(name: string): string {
  return /^[\p{L}\p{M}\p{N}_ ./-]+$/u.test(name) ? name : JSON.stringify(name);
}

/** Inserts references into the path and the query of a URL. The host stays literal, because records must not choose the server. */
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
