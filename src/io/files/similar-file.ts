import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { didYouMean, nearest } from '../../core/text/suggest.ts';

/** Returns `; did you mean "x"?` with the path in the same folder that is most similar to a missing one; empty if none is similar. */
export function similarFile(path: string): string {
  try {
    const near = nearest(basename(path), readdirSync(dirname(path)));
    if (near === undefined) return '';
    const similar = join(dirname(path), near);
    return didYouMean(similar, [similar]);
  } catch {
    return '';
  }
}
