import { compilePath } from '../../core/answer/path.ts';
import type { WrittenMap } from '../../flow/map-text.ts';
import type { StructureRow } from './structure.ts';

/** A map with further paths, each in a field of its own. A path that the map has already is not added again. */
export function withPaths(map: WrittenMap, paths: readonly string[]): WrittenMap {
  const whole = new Map(Object.entries(map));
  for (const path of paths) if (![...whole.values()].includes(path)) whole.set(freeField(whole, path), path);
  return Object.fromEntries(whole);
}

/** A field named after the last name of a path, with a number if the map has that field. The page proposes the same names. */
function freeField(map: ReadonlyMap<string, string>, path: string): string {
  const { root, legs } = compilePath(path);
  const name = legs.flat().findLast((step) => typeof step === 'string') ?? (path.startsWith('$') ? root : 'value');
  const base = String(name).replace(/^\$/, '');
  let field = base;
  for (let number = 2; map.has(field); number++) field = `${base}_${number}`;
  return field;
}

/**
 * The paths of all values in an answer that one map can hold. One array of objects makes a row for each element; another one, and an array of
 * texts or numbers, stays whole.
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
  // The elements of an array of texts or numbers are no values of their own.
  return path.startsWith(outer) && /^(?:\.|\[[^\]]|\[\](?:\[\])*[.[])/.test(path.slice(outer.length));
}

/** The arrays on the way of a path, outermost first: `a[]` and `a[].b[]` for `a[].b[].c`. */
function arraysOf(path: string): string[] {
  return [...path.matchAll(/\[\]/g)].map(({ index }) => path.slice(0, index + '[]'.length));
}
