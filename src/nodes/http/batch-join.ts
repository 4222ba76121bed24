import { kindOf, type Mapping } from '../../core/answer/mapping.ts';
import { compilePath, pathTo, valueAt } from '../../core/answer/path.ts';
import { inQuotes } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import { textOf, type Value, type ValuePath } from '../../core/value/value.ts';
import type { HttpAnswer } from './answer-reader.ts';
import type { BatchOptions } from './http-options.ts';

/** Finds each entry's elements, or a Failure if it has none. Throws a Failure if the response does not fit the entries. */
export type Join = (answer: HttpAnswer, entries: readonly { readonly key: string | undefined }[]) => readonly (Elements | Failure)[];

/** The elements of the response for one record; undefined if every record gets the whole response. */
export type Elements = readonly Value[] | undefined;

/** Throws an Error with the reason if the options are invalid. */
export function compileJoin({ match, missing }: BatchOptions, mapping: Mapping | undefined): Join {
  const path = match && compilePath(match.path);
  if (path && path.legs.length !== 2) {
    throw new Error(`expected a path through one array, such as results[].id, found "${path.text}"`);
  }
  const array = path?.legs[0] ?? mapping?.array;
  if (path && mapping?.array && JSON.stringify(path.legs[0]) !== JSON.stringify(mapping.array)) {
    throw new Error(`"${path.text}" and the map go through different arrays`);
  }
  if (mapping && path) refuseShared(mapping, array as (string | number)[]);
  if (!array) return (_answer, entries) => entries.map(() => undefined);
  const at = array.reduce<string>(pathTo, '');
  const name = `${at}[]`;
  return (answer, entries) => {
    const { status } = answer;
    const elements = arrayIn(answer, array, name);
    if (!path && elements.length !== entries.length) throw new Failure('mapping', otherCount(elements, entries, name), { status });
    const found = path ? byValue(elements, path.legs[1] as (string | number)[]) : byPosition(elements);
    return entries.map(({ key }, index) => {
      const own = found(key ?? '', index);
      if (own.length > 0 || missing !== 'error') return own;
      const reason = path ? `no "${path.text}" is ${inQuotes(key ?? '')}` : `"${pathTo(at, index)}" is null`;
      return new Failure('mapping', `the answer has nothing for this record: ${reason}`, { status });
    });
  };
}

/** Throws an Error for a path to a single element of the list that `match` searches: all records would get that element. */
function refuseShared({ paths }: Mapping, array: ValuePath): void {
  for (const text of paths) {
    const { root, legs } = compilePath(text);
    const [leg = []] = legs;
    const isElement = array.every((part, index) => leg[index] === part) && typeof leg[array.length] === 'number';
    if (root !== 'body' || !isElement) continue;
    const own = leg.slice(array.length + 1).reduce<string>(pathTo, `${array.reduce<string>(pathTo, '')}[]`);
    throw new Error(`"${text}" reads the same element for all records of a batch; write "${own}" to read each record's own`);
  }
}

function arrayIn({ status, body }: HttpAnswer, array: ValuePath, name: string): readonly Value[] {
  const value = valueAt(body, array);
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw new Failure('mapping', `expected an array at "${name}", found ${kindOf(value)}`, { status });
}

type ResultFinder = (key: string, index: number) => readonly Value[];

function byValue(elements: readonly Value[], path: ValuePath): ResultFinder {
  const found = new Map<string, Value[]>();
  for (const element of elements) {
    const value = valueAt(element, path);
    if (value === undefined || value === null) continue;
    const key = textOf(value);
    const others = found.get(key);
    if (others) others.push(element);
    else found.set(key, [element]);
  }
  return (key) => found.get(key) ?? [];
}

function byPosition(elements: readonly Value[]): ResultFinder {
  return (_key, index) => elements.slice(index, index + 1).filter((element) => element !== null);
}

/** Returns the message for a wrong number of elements. If an element is missing, it is unknown to which records the others belong. */
function otherCount(elements: readonly unknown[], entries: readonly unknown[], name: string): string {
  return `expected ${entries.length} elements in "${name}" for ${entries.length} records, found ${elements.length}; batch.match joins them by a value`;
}
