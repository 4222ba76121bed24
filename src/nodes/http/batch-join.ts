import { kindOf, type Mapping } from '../../core/answer/mapping.ts';
import { compilePath, pathTo, valueAt } from '../../core/answer/path.ts';
import { inQuotes } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import type { HttpAnswer } from './answer-reader.ts';
import type { BatchOptions } from './batch-options.ts';

/** The elements of the answer for each entry, or a Failure for an entry without elements; `undefined` if every record gets the whole answer. Throws a Failure. */
export type Join = (answer: HttpAnswer, entries: readonly { readonly key: string | undefined }[]) => readonly (Elements | Failure)[];

/** The elements of one record; undefined if every record gets the whole answer. */
export type Elements = readonly Value[] | undefined;

/** Compiles the way in which records find their elements. Throws an Error that says what is wrong. */
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
      return new Failure('mapping', `the answer lacks this record: ${reason}`, { status });
    });
  };
}

/** Refuses a path to one element of the array of `match`: it would give all records of a batch the element of one record. */
function refuseShared({ paths }: Mapping, array: readonly (string | number)[]): void {
  for (const text of paths) {
    const { root, legs } = compilePath(text);
    const [leg = []] = legs;
    const isElement = array.every((part, index) => leg[index] === part) && typeof leg[array.length] === 'number';
    if (root !== 'body' || !isElement) continue;
    const own = leg.slice(array.length + 1).reduce<string>(pathTo, `${array.reduce<string>(pathTo, '')}[]`);
    throw new Error(`"${text}" is the same element for all records of a batch; "${own}" gives each its own`);
  }
}

function arrayIn({ status, body }: HttpAnswer, array: readonly (string | number)[], name: string): readonly Value[] {
  const value = valueAt(body, array);
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw new Failure('mapping', `expected an array at "${name}", found ${kindOf(value)}`, { status });
}

type Finder = (key: string, index: number) => readonly Value[];

function byValue(elements: readonly Value[], path: readonly (string | number)[]): Finder {
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

function byPosition(elements: readonly Value[]): Finder {
  return (_key, index) => elements.slice(index, index + 1).filter((element) => element !== null);
}

/** With one element too few, no position can be trusted. */
function otherCount(elements: readonly unknown[], entries: readonly unknown[], name: string): string {
  return `expected ${entries.length} elements in "${name}" for ${entries.length} records, found ${elements.length}; batch.match joins them by a value`;
}
