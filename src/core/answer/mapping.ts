import { Failure } from '../failure.ts';
import { copyOf, type Fields } from '../record.ts';
import { isObject, membersOf, type Value, type ValuePath } from '../value/value.ts';
import type { AnswerFacts, FactName } from './facts.ts';
import { compilePath, isFact, type Path, pathTo, valueAt } from './path.ts';

/** A response in the form in which a node's `map` reads it. */
export interface Answer {
  /** The HTTP status; undefined for the response of a tool. */
  readonly status: number | undefined;
  /** `name` is in lower case. */
  header(name: string): string | undefined;
  /** The parsed body; undefined if the body was empty. */
  readonly body: Value | undefined;
  /** Undefined unless a map reads them. */
  readonly facts?: AnswerFacts;
}

/** The option `when_empty`: whether a record with an empty or missing list is kept, is dropped, or fails. */
export type WhenEmpty = 'keep' | 'drop' | 'error';

/** A compiled `map`, which reads fields from a response. */
export interface Mapping {
  readonly fields: readonly string[];
  /** The paths as they were written in the flow, one for each field. */
  readonly paths: readonly string[];
  /** The fields that are not written with `replace: true`. */
  readonly unmarked: readonly MappedField[];
  /** True if one record can become several rows. */
  readonly expands: boolean;
  /** True if a path leads into the body, so that the record fails if the body is not JSON. */
  readonly needsJson: boolean;
  /** True if any path reads the body, either as a whole (`$body`) or in part. */
  readonly readsBody: boolean;
  /** True if any path reads a fact of the answer, such as `$url`. */
  readonly readsFacts: boolean;
  /** Sets `found` for each path. Throws a Failure (`mapping`) if the response lacks a required value. */
  apply(record: Fields, answer: Answer, found: Found[], part?: MappedPart): Fields[];
  /** The steps to the outermost list that the map expands. */
  readonly array: ValuePath | undefined;
  /** The steps to the values that can be lists: the list that the map expands, or each value in the body that it reads as a whole. */
  readonly lists: readonly ValuePath[];
}

/** True if a path led to a value. `empty`: all its values were null, empty text, or lists or objects without members. */
export type Found = boolean | 'empty';

export interface MappedField {
  readonly field: string;
  readonly member: WrittenMember;
  /** The file whose column fills the field; `path` is then the column. Undefined if an answer fills it. */
  readonly file?: string;
  readonly at: ValuePath;
}

/** The part of a response that belongs to one record, if several records share the response. */
export interface MappedPart {
  /** The elements of the outermost list that belong to the record; undefined if all of them do. */
  readonly elements?: readonly Value[];
  /** Replaces the map's own `when_empty` if the record has no elements. */
  readonly whenEmpty?: WhenEmpty;
}

/** A path as written in the flow, and the consequence if it finds nothing: a default value, or a failure. */
interface WrittenMember {
  readonly path: string;
  readonly required?: boolean;
  /** The value that the field gets if the path finds nothing. If it is undefined, the field is null. */
  readonly default?: unknown;
  /** True if the field may replace a column of the input without a warning. */
  readonly replace?: boolean;
}

interface MapEntry {
  readonly field: string;
  /** The value that the field gets if the path finds nothing. If it is undefined, the record fails instead. */
  readonly fallback: Value | undefined;
  readonly path: Path;
  readonly place: number;
}

/** A `map` as written in the flow: a list of paths, or a mapping of field names to paths. */
export type WrittenMap = readonly string[] | Readonly<Record<string, string | WrittenMember>>;

/** Compiles a `map`. Throws an Error with the reason if the map is invalid. */
export function compileMapping(written: WrittenMap, whenEmpty: WhenEmpty): Mapping {
  const pairs = Array.isArray(written)
    ? written.map((path: string) => [path, path] as const)
    : membersOf(written as Record<string, string | WrittenMember>);
  const entries = pairs.map(([field, member], place) => mappingEntry(field, member, place));
  const chain = chainOf(entries);
  const byDepth = Array.from({ length: chain.length + 1 }, (_, depth) => entries.filter((entry) => entry.path.legs.length === depth + 1));
  return {
    fields: entries.map((entry) => entry.field),
    paths: entries.map((entry) => entry.path.text),
    unmarked: pairs.flatMap(([field, member], place) => {
      const options = typeof member === 'string' ? { path: member } : member;
      return options.replace ? [] : [{ field, member: options, at: ['map', Array.isArray(written) ? place : field] }];
    }),
    expands: chain.length > 0,
    needsJson: entries.some((entry) => entry.path.root === 'body' && (entry.path.legs.length > 1 || entry.path.legs[0]?.length !== 0)),
    readsBody: entries.some((entry) => entry.path.root === 'body'),
    readsFacts: entries.some((entry) => isFact(entry.path)),
    array: chain[0],
    lists: chain[0] ? [chain[0]] : entries.flatMap(({ path }) => (path.root === 'body' ? path.legs : [])),
    apply: (record, answer, found, part = {}) => {
      const to = { whenEmpty, ...part, record, answer, found };
      return chain.length === 0 ? [mappedRow(entries, undefined, to)] : apply({ entries, chain, byDepth }, to);
    },
  };
}

function mappingEntry(field: string, member: string | WrittenMember, place: number): MapEntry {
  if (typeof member === 'string') return { field, path: compilePath(member), place, fallback: null };
  const fallback = member.required ? undefined : ((member.default ?? null) as Value);
  return { field, path: compilePath(member.path), place, fallback };
}

/** Throws a Failure if the field is required. */
function absentValue({ field, path, fallback }: MapEntry, { status }: Answer): Value {
  if (fallback !== undefined) return fallback;
  throw new Failure('mapping', `the answer has no "${path.text}", but "${field}" is required`, { status });
}

/** Returns the steps to each expanded list, from the outermost list inwards. Throws an Error if the paths expand different lists. */
function chainOf(entries: readonly MapEntry[]): readonly ValuePath[] {
  const longest = entries.reduce<MapEntry | undefined>(
    (longest, entry) => (entry.path.legs.length > (longest?.path.legs.length ?? 1) ? entry : longest),
    undefined,
  );
  if (!longest) return [];
  const chain = longest.path.legs.slice(0, -1);
  for (const { path } of entries) {
    const other = path.legs.slice(0, -1).some((leg, depth) => JSON.stringify(leg) !== JSON.stringify(chain[depth]));
    if (other) {
      throw new Error(`"${path.text}" and "${longest.path.text}" expand different arrays; a node can expand only one (nested) array`);
    }
  }
  return chain;
}

interface Application extends MappedPart {
  readonly whenEmpty: WhenEmpty;
  readonly record: Fields;
  readonly answer: Answer;
  readonly found: Found[];
}

interface Expansion {
  readonly entries: readonly MapEntry[];
  readonly chain: Path['legs'];
  /** The fields of the map, grouped by the number of nested lists that their paths expand. */
  readonly byDepth: readonly (readonly MapEntry[])[];
}

function apply({ entries, chain, byDepth }: Expansion, to: Application): Fields[] {
  for (const entry of entries) to.found[entry.place] = false;
  if (chain.length === 1 && to.elements && to.elements.length > 0) return to.elements.map((element) => mappedRow(entries, element, to));
  const rows: Value[][] = [];
  const values: Value[] = entries.map(() => null);
  expand(0, to.answer.body);
  return rows.map((row) => {
    const fields = copyOf(to.record);
    for (const entry of entries) fields.set(entry.field, row[entry.place] as Value);
    return fields;
  });

  function expand(depth: number, value: Value | undefined): void {
    for (const entry of byDepth[depth] as MapEntry[]) read(entry, value);
    const leg = chain[depth];
    if (leg === undefined) rows.push([...values]);
    else expandArray(depth, depth === 0 && to.elements ? (to.elements as Value[]) : valueAt(value, leg));
  }

  function expandArray(depth: number, array: Value | undefined): void {
    if (array !== undefined && array !== null && !Array.isArray(array)) {
      throw new Failure('mapping', `expected an array at "${arrayPath(chain, depth)}", found ${kindOf(array)}`, {
        status: to.answer.status,
      });
    }
    if (array !== undefined && array !== null && array.length > 0) {
      for (const element of array) expand(depth + 1, element);
    } else expandNothing(depth, array === undefined);
  }

  function expandNothing(depth: number, isAbsent: boolean): void {
    const deeper = byDepth.slice(depth + 1).flat();
    // If the list is missing, the paths into it count as missing. If the list is empty, these paths do not count as missing, and only
    // `when_empty` applies.
    const fallbacks = deeper.map((entry) => (isAbsent ? absentValue(entry, to.answer) : null));
    if (to.whenEmpty === 'error') {
      throw new Failure('mapping', `the array "${arrayPath(chain, depth)}" is empty or missing`, { status: to.answer.status });
    } else if (to.whenEmpty === 'keep') {
      for (const [index, { place }] of deeper.entries()) values[place] = fallbacks[index] as Value;
      rows.push([...values]);
    }
  }

  function read(entry: MapEntry, value: Value | undefined): void {
    const read = rootValue(entry.path, to.answer, value);
    to.found[entry.place] = foundWith(read, to.found[entry.place]);
    values[entry.place] = read === undefined ? absentValue(entry, to.answer) : read;
  }
}

/** Maps a response to one row. `element` is an element of the only list that the map expands; undefined if the map expands no list. */
function mappedRow(entries: readonly MapEntry[], element: Value | undefined, { record, answer, found }: Application): Fields {
  const fields = copyOf(record);
  for (const entry of entries) {
    const { field, path, place } = entry;
    const value = rootValue(path, answer, path.legs.length === 1 ? answer.body : element);
    found[place] = foundWith(value, found[place]);
    fields.set(field, value === undefined ? absentValue(entry, answer) : value);
  }
  return fields;
}

function foundWith(value: Value | undefined, before: Found = false): Found {
  if (value === undefined || before === true) return before;
  return value === null || value === '' || (typeof value === 'object' && isWithoutMembers(value)) ? 'empty' : true;
}

function isWithoutMembers(value: Value): boolean {
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

function arrayPath(chain: Path['legs'], depth: number): string {
  return chain.slice(0, depth + 1).reduce((path, leg) => `${leg.reduce(pathTo, path)}[]`, '');
}

/** Returns the value at a path that leads to a single value, because it contains no `[]`. */
export function rootValue(path: Path, answer: Answer, value: Value | undefined): Value | undefined {
  if (path.root === 'status') return answer.status;
  if (path.root === 'headers') return answer.header(path.legs[0]?.[0] as string);
  if (path.root !== 'body') return answer.facts?.[path.root as FactName];
  return valueAt(value, path.legs.at(-1) as (string | number)[]);
}

export function kindOf(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  return typeof value === 'object' ? 'a number' : `a ${typeof value}`;
}
