import { compilePath } from '../core/answer/path.ts';
import { freeName } from '../core/text/suggest.ts';
import type { WrittenMap } from '../flow/map-text.ts';
import type { StructureRow } from './structure.ts';

/**
 * Adds paths to a node's `map`, each under a field name that is new and not in `taken`. Skips paths that the map already contains.
 */
export function withPaths(map: WrittenMap, paths: readonly string[], taken: ReadonlySet<string> = new Set()): WrittenMap {
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

/** Returns the last name in a path, which becomes the name of its field. The web page suggests the same names. */
export function lastName(path: string): string {
  const { root, legs } = compilePath(path);
  const name = legs.flat().findLast((step) => typeof step === 'string') ?? (path.startsWith('$') ? root : 'value');
  return String(name).replace(/^\$/, '');
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

function isBelow(path: string, outer: string): boolean {
  // A string or number in an array does not count as below it, because such an array is extracted as a single value.
  return path.startsWith(outer) && /^(?:\.|\[[^\]]|\[\](?:\[\])*[.[])/.test(path.slice(outer.length));
}

/** Returns the paths of the arrays that a path goes through, outermost first. For `a[].b[].c`, these are `a[]` and `a[].b[]`. */
function arraysOf(path: string): string[] {
  return [...path.matchAll(/\[\]/g)].map(({ index }) => path.slice(0, index + '[]'.length));
}
