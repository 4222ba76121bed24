import { readdirSync } from 'node:fs';
import { join, parse } from 'node:path';
import { didYouMean, nearest } from '../core/text/suggest.ts';

/**
 * Returns `; did you mean "x"?` with the path in the same folder that is most similar to a missing one: another file of the same kind, or
 * the same name with another extension. Empty if none is similar.
 */
export function similarFile(path: string): string {
  const { dir, name, ext } = parse(path);
  const files = namesIn(dir).map((other) => parse(other));
  const near = nearest(
    name,
    files.filter((file) => file.ext === ext).map((file) => file.name),
  );
  const found = near === undefined ? files.find((file) => file.name === name)?.base : `${near}${ext}`;
  return found === undefined ? '' : didYouMean(join(dir, found), [join(dir, found)]);
}

/** Returns the names in a folder; an empty list if it cannot be read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder === '' ? '.' : folder);
  } catch {
    return [];
  }
}
