import { lastName, pathTo } from '../core/answer/path.ts';
import { excerpt } from '../core/answer/response.ts';
import { counted } from '../core/text/number.ts';
import { escapedControls } from '../core/text/quoted-word.ts';
import { freeName } from '../core/text/suggest.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../core/value/value.ts';
import type { MapText } from '../flow/map-text.ts';

/** The syntax is that of a node's `map`. */
export interface StructureRow {
  readonly path: string;
  readonly type: string;
  readonly sample: string;
}

const maxElements = 100;

const maxPaths = 500;

/** The paths in a response, in the order in which they were found. */
interface Structure {
  readonly rows: readonly StructureRow[];
  /** Number of further paths, which are not listed. The last members of a large object count as one path each, whatever is below them. */
  readonly more: number;
}

const each = Symbol('each element');

interface Listed {
  readonly path: string;
  readonly types: Set<string>;
  sample: Value;
}

interface SeenPath {
  /** The path for the list; undefined if the list was full. */
  readonly listed: Listed | undefined;
  below?: Map<string | typeof each, SeenPath>;
  /** Number of members below it that were not examined. */
  unexamined?: number;
}

/** The paths in a response, at most `max`, with the types of their values and a sample. The elements of an array share one path. */
export function structureOf(body: Value | undefined, max = maxPaths): Structure {
  const list: Listed[] = [];
  let count = 0;
  if (body !== undefined) {
    visit({ listed: { path: '', types: new Set(), sample: null } }, body);
    if (count === 0) note(found('$body'), body);
  }
  const rows = list.map(({ path, types, sample }) => ({ path, type: [...types].join(' or '), sample: sampleText(sample) }));
  return { rows, more: count - rows.length };

  function visit(outer: SeenPath, value: Value): void {
    if (isObject(value)) visitMembers(outer, value);
    if (Array.isArray(value)) for (const element of value.slice(0, maxElements)) visitBelow(outer, each, element);
  }

  function visitMembers(outer: SeenPath, value: JsonObject): void {
    const names = Object.keys(value);
    for (const name of names.slice(0, max)) visitBelow(outer, name, value[name] as Value);
    const { unexamined = 0 } = outer;
    if (names.length - max <= unexamined) return;
    outer.unexamined = names.length - max;
    count += outer.unexamined - unexamined;
  }

  function visitBelow(outer: SeenPath, step: string | typeof each, value: Value): void {
    outer.below ??= new Map();
    let inner = outer.below.get(step);
    if (!inner) {
      inner = found(outer.listed && list.length < max ? pathBelow(outer.listed.path, step) : undefined);
      outer.below.set(step, inner);
    }
    note(inner, value);
    visit(inner, value);
  }

  function found(path: string | undefined): SeenPath {
    count++;
    if (path === undefined) return { listed: undefined };
    const listed: Listed = { path, types: new Set(), sample: null };
    list.push(listed);
    return { listed };
  }
}

function note({ listed }: SeenPath, value: Value): void {
  listed?.types.add(valueType(value));
  if (listed?.sample === null) listed.sample = value;
}

function pathBelow(path: string, step: string | typeof each): string {
  return step === each ? `${path}[]` : printablePath(path, step);
}

/** Appends a member name to a path. Control characters are escaped, so that the path can be copied from a terminal. */
function printablePath(path: string, name: string): string {
  return escapedControls(name) === name ? pathTo(path, name) : `${path}[${escapedControls(JSON.stringify(name))}]`;
}

function valueType(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'object' ? 'number' : typeof value;
}

function sampleText(value: Value): string {
  if (Array.isArray(value)) return counted(value.length, 'element');
  if (isObject(value)) return counted(Object.keys(value).length, 'member');
  return excerpt(jsonOf(value), 60);
}

/** Adds paths to a node's `map`, each under a field name that is new and not in `taken`. Skips paths that the map already contains. */
export function withPaths(map: MapText, paths: readonly string[], taken: ReadonlySet<string> = new Set()): MapText {
  const whole = new Map(Object.entries(map));
  for (const path of paths) {
    if (![...whole.values()].includes(path))
      whole.set(
        freeName(lastName(path), (name) => whole.has(name) || taken.has(name)),
        path,
      );
  }
  return Object.fromEntries(whole);
}

/**
 * Returns paths for all values of a response that a single `map` can extract. A map can split only one array of objects, and the arrays
 * inside it, into rows. For any other array, the path therefore leads to the whole array.
 */
export function allPaths(rows: readonly StructureRow[]): string[] {
  const paths = new Set<string>();
  let chain: readonly string[] = [];
  for (const { path } of rows) {
    if (rows.some((other) => isBelow(other.path, path))) continue;
    const leaf = path.replace(/(?:\[\])+$/, '');
    const arrays = arraysOf(leaf);
    const other = arrays.findIndex((array, depth) => depth < chain.length && array !== chain[depth]);
    if (other < 0 && arrays.length > chain.length) chain = arrays;
    const whole = other < 0 ? leaf : (arrays[other] as string).slice(0, -'[]'.length);
    paths.add(whole === '' ? '$body' : whole);
  }
  return [...paths];
}

/** For a map that splits only the array at `list`, or none. Arrays of objects elsewhere are left out: they would split the answer, too. */
export function pathsWithin(rows: readonly StructureRow[], list: string | undefined): string[] {
  const isWithin = (path: string) => arraysOf(path).every((array) => array === `${list}[]`);
  const leaves = rows.filter(({ path }) => !rows.some((other) => isBelow(other.path, path)));
  return allPaths(leaves.filter(({ path }) => isWithin(path.replace(/(?:\[\])+$/, ''))));
}

function isBelow(path: string, outer: string): boolean {
  // A string or number in an array does not count as below it, because such an array is extracted as a single value.
  return path.startsWith(outer) && /^(?:\.|\[[^\]]|\[\](?:\[\])*[.[])/.test(path.slice(outer.length));
}

/** Outermost first: for `a[].b[].c`, these are `a[]` and `a[].b[]`. */
function arraysOf(path: string): string[] {
  return [...path.matchAll(/\[\]/g)].map(({ index }) => path.slice(0, index + '[]'.length));
}
