import { pathTo } from '../core/answer/path.ts';
import { isCelName } from '../core/condition/expression-error.ts';
import type { Fields } from '../core/record.ts';
import { referableNames, referencedFields } from '../core/template/template.ts';
import { percentDecoded } from '../core/template/url.ts';
import { looksRandom } from '../core/text/secret-shapes.ts';
import { shortName } from '../core/text/suggest.ts';
import { ExactNumber, textOf, type Value, type ValuePath } from '../core/value/value.ts';
import { holdsLogin, isPossiblySecret, isSecretHeader } from '../flow/secrets/secret-text.ts';
import { plainName, type WrittenNode, withLiterals } from './written-node.ts';

export interface Example {
  readonly name: string;
  readonly columns: readonly string[];
  readonly fields?: Fields;
}

export interface Referring {
  readonly node: WrittenNode;
  readonly notes: readonly string[];
  /** Names for columns whose own names cannot be written in a reference, each with the column; undefined if there are no such columns. */
  readonly columns: Readonly<Record<string, string>> | undefined;
}

/** Replaces values of the first record, even in headers and body. A number in the body stays a number, as in `{ cel: int(field) }`. */
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
  const named = references.filter(({ column, name }) => column !== name);
  return {
    node,
    notes: values.notes(),
    columns: named.length === 0 ? undefined : Object.fromEntries(named.map(({ column, name }) => [name, column])),
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

/** Replaces the values inside a body. `find` returns the replacement for the value at a path, or undefined to keep it. */
function inBody(value: unknown, at: ValuePath, find: (leaf: unknown, place: ValuePlace) => unknown): unknown {
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

/** Unlike in JSON, a string can also equal a number. */
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

export function fieldsOf(node: WrittenNode): string[] {
  const text = JSON.stringify(node);
  return [...referencedFields(text), ...[...text.matchAll(/\{"cel":"\w+\((\w+)\)/g)].map(([, name = '']) => name)];
}

function asNumber(field: string, convert: 'int' | 'double'): unknown {
  return isCelName(field) ? { cel: `${convert}(${field})` } : `{{${field}}}`;
}

interface ValuePlace {
  readonly said: string;
  /** The names that lead to the value, such as `user` and `id` for a member `id` of an object `user`. Empty for a segment of the path. */
  readonly names: readonly string[];
  /** The segment before a segment of the path, such as `users` before an id; undefined for any other place. */
  readonly segmentBefore?: string;
}

interface ReferredField {
  readonly column: string;
  readonly name: string;
  readonly value: Value | undefined;
}

interface ReplacedValue extends ReferredField {
  readonly places: Set<string>;
  /** True if the value might be a secret, so that no message may show it. */
  isSecret: boolean;
}

class ReplacedValues {
  readonly #fields: readonly ReferredField[];
  readonly #replaced = new Map<string, ReplacedValue>();
  readonly #ambiguous = new Set<string>();

  constructor(fields: readonly ReferredField[]) {
    this.#fields = fields.filter(
      ({ value }) => value !== '' && (['string', 'number'].includes(typeof value) || value instanceof ExactNumber),
    );
  }

  /** Undefined if no field belongs there. A field with the place's name is preferred. */
  referenceAt(place: ValuePlace, equals: (value: Value) => boolean): string | undefined {
    const equal = this.#fields.filter(({ value }) => equals(value as Value));
    const { names, segmentBefore } = place;
    const found =
      equal.find(({ column }) => isNamedLike(column, names)) ??
      (segmentBefore === undefined ? undefined : onlyOneFor(segmentBefore, equal)) ??
      equal.find(({ value }) => isDistinct(textOf(value as Value)));
    if (found) this.#note(found, place);
    else if (segmentBefore !== undefined && equal.length > 0) this.#ambiguous.add(ambiguity(equal));
    return found && `{{${found.name}}}`;
  }

  #note(field: ReferredField, { said, names }: ValuePlace): void {
    const text = textOf(field.value as Value);
    const replacement = this.#replaced.get(field.column) ?? {
      ...field,
      places: new Set(),
      isSecret: looksRandom(text) || holdsLogin(text),
    };
    replacement.places.add(said);
    replacement.isSecret ||= [field.column, ...names].some((name) => isPossiblySecret(name, 'body', text, true));
    this.#replaced.set(field.column, replacement);
  }

  notes(): string[] {
    const replaced = [...this.#replaced.values()].map(({ column, name, value, isSecret, places }) => {
      const shown = isSecret ? `the first record's ${plainName(column)}` : plainName(shortName(textOf(value as Value)));
      return `replaced ${shown} by {{${name}}} in: ${[...places].join(', ')}`;
    });
    return [...replaced, ...this.#ambiguous];
  }
}

function onlyOneFor(segment: string, fields: readonly ReferredField[]): ReferredField | undefined {
  const before = bareName(segment);
  const things = [before, before.replace(/ies$/, 'y'), before.replace(/e?s$/, ''), before.replace(/s$/, '')];
  const kinds = [
    fields.filter(({ column }) => things.some((thing) => [thing, `${thing}id`].includes(bareName(column)))),
    fields.filter(({ column }) => bareName(column) === 'id'),
    fields.filter(({ column }) => bareName(column).endsWith('id')),
    fields,
  ];
  const likely = kinds.find((kind) => kind.length > 0) ?? [];
  return likely.length === 1 ? likely[0] : undefined;
}

/** The note about a segment of the path that several fields might have filled. Their value is short, so it is no secret. */
function ambiguity(fields: readonly ReferredField[]): string {
  const value = plainName(textOf(fields[0]?.value as Value));
  const columns = fields.map(({ column }) => plainName(shortName(column))).join(' and ');
  const references = fields.map(({ name }) => `{{${name}}}`).join(' or ');
  return `kept ${value} in the path, because ${columns} have the same value: if it is one of them, write ${references} there`;
}

/** True if a value identifies its field wherever it stands. Short values, true and false are in many requests by chance. */
function isDistinct(text: string): boolean {
  return [...text].length > 2 && !/^(?:true|false|null)$/i.test(text);
}

/** Ignores case, separators and the `X-` of headers. The last names are enough, as in `filter[id]`, and plurals count. */
function isNamedLike(column: string, names: readonly string[]): boolean {
  const wanted = bareName(column);
  return (
    wanted !== '' && names.some((_, index) => bareName(names.slice(index).join('')).replace(RegExp(`^${wanted}s$`), wanted) === wanted)
  );
}

function bareName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^x-/, '')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}
