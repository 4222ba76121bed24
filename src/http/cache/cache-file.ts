import { join } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { byteSize } from '../../core/options/amounts.ts';
import { homeFolder } from '../../files/home.ts';

/** Returns the path of the file in which answers are cached. */
export function cachePath(environment: NodeJS.ProcessEnv): string {
  return join(homeFolder(environment), 'cache.db');
}

const defaultMaxBytes = 500e6;

/**
 * Returns the maximum size of the answer cache in bytes: the value of AUTOMATE_CACHE_MAX, or 500 MB. Throws an AutomateError (`usage`) if
 * the variable is not a size.
 */
export function maxCacheBytes({ AUTOMATE_CACHE_MAX: written }: NodeJS.ProcessEnv): number {
  if (written === undefined || written === '') return defaultMaxBytes;
  const size = byteSize.safeParse(written);
  if (size.success) return size.data;
  throw new AutomateError('usage', `AUTOMATE_CACHE_MAX: ${size.error.issues[0]?.message}`);
}
