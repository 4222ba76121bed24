import { pathTo } from '../core/answer/path.ts';
import { isCelName } from '../core/condition/cel-name.ts';
import type { Fields } from '../core/record.ts';
import { percentDecoded } from '../core/template/query.ts';
import { referableNames, referencedFields } from '../core/template/template.ts';
import { textOf } from '../core/value/value.ts';
import { isPossiblySecret, isSecretHeader } from '../flow/secrets/secret-text.ts';
import { plainName } from './plain-name.ts';
import { ReplacedValues, type ValuePlace } from './replaced-values.ts';
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
 * Replaces the values of a request that equal a field of the first record with `{{field}}`: segments of the path, parameters, headers, and
 * values in the body. A number in the body stays a number: if a field contains the same number as a string, it becomes
 * `{ cel: int(field) }`.
 */
export function withReferences(written: WrittenNode, example: Example | undefined): Referring {
  const columns = example?.columns ?? [];
  const references = [...referableNames(columns)].map(([column, name]) => ({ column, name, value: example?.fields?.get(column) }));
  const values = new ReplacedValues(references);
  const { headers, body, form } = written;
  const node: WrittenNode = {
    ...written,
    url: inUrl(written.url, values),
    ...(headers && { headers: inHeaders(headers, values) }),
    ...(body !== undefined && { body: typeof body === 'string' ? inText(body, values) : inBody(body, [], jsonReference(values)) }),
    ...(form && { form: inBody(form, [], formReference(values)) as Readonly<Record<string, unknown>> }),
  };
  const names = fieldsOf(node);
  const missing = references.filter(({ column, name }) => column !== name && names.includes(name));
  return {
    node,
    notes: values.notes(),
    renamed: missing.length === 0 ? undefined : Object.fromEntries(missing.map(({ column, name }) => [column, name])),
  };
}

/** Inserts references into the path and the query of a URL. The host stays literal, because records must not choose the server. */
function inUrl(url: string, values: ReplacedValues): string {
  const [, start = '', path = '', query] = /^([a-z][a-z\d+.-]*:\/\/[^/?]*)([^?]*)(?:\?(.*))?$/is.exec(url) ?? [];
  if (start === '') return url;
  const segments = path.split('/').map((segment, index, all) => {
    const place = { said: 'the path', names: [], segmentBefore: percentDecoded(all[index - 1] ?? '') };
    return textReference(values, place, percentDecoded(segment)) ?? segment;
  });
  const parameters = query?.split('&').map((parameter) => {
    const [name = '', value] = parameter.split(/=(.*)/s);
    const shown = percentDecoded(name);
    const place = { said: `the query parameter ${plainName(shown)}`, names: shown.split(/[[\].]+/).filter((part) => part !== '') };
    const reference = value === undefined ? undefined : textReference(values, place, percentDecoded(value.replaceAll('+', ' ')));
    return reference === undefined ? parameter : `${name}=${reference}`;
  });
  return start + segments.join('/') + (parameters === undefined ? '' : `?${parameters.join('&')}`);
}

/** Inserts references into headers, except into a header with a secret: a credential replaces that one. */
function inHeaders(headers: Readonly<Record<string, string>>, values: ReplacedValues): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => {
      const place = { said: `the header ${plainName(name)}`, names: [name] };
      const reference = isSecretHeader(name, text, isPossiblySecret) ? undefined : textReference(values, place, text);
      return [name, reference ?? text];
    }),
  );
}

type At = readonly (string | number)[];

/** Replaces the values inside a body. `find` returns the replacement for the value at a path, or undefined to keep it. */
function inBody(value: unknown, at: At, find: (leaf: unknown, place: ValuePlace) => unknown): unknown {
  if (Array.isArray(value)) return value.map((member, index) => inBody(member, [...at, index], find));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inBody(member, [...at, name], find)]));
  const names = at.filter((step) => typeof step === 'string');
  return find(value, { said: `${at.reduce<string>(pathTo, '')} in the body`, names }) ?? value;
}

function jsonReference(values: ReplacedValues) {
  return (written: unknown, place: ValuePlace): unknown => {
    const reference = values.referenceAt(place, (own) => own === written);
    if (reference !== undefined || typeof written !== 'number') return reference;
    const cell = values.referenceAt(place, (own) => own === String(written));
    return cell && asNumber(cell.slice(2, -2), Number.isInteger(written) ? 'int' : 'double');
  };
}

/** Returns the references for the values of a form. Unlike in JSON, a string can also equal a number. */
function formReference(values: ReplacedValues) {
  return (written: unknown, place: ValuePlace): string | undefined =>
    typeof written === 'string' ? textReference(values, place, written) : undefined;
}

/** Inserts references into a body that stays JSON text, because YAML would change its numbers. */
function inText(json: string, values: ReplacedValues): string {
  return withLiterals(json, (literal, name) => {
    const place = { said: `${pathTo('', name)} in the body`, names: [name] };
    if (!literal.startsWith('"')) return textReference(values, place, literal);
    const text = JSON.parse(literal);
    const reference = values.referenceAt(place, (own) => own === text);
    return reference === undefined ? undefined : `"${reference}"`;
  });
}

function textReference(values: ReplacedValues, place: ValuePlace, text: string): string | undefined {
  return values.referenceAt(place, (own) => textOf(own) === text);
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
