import { join } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { byteSize } from '../../core/options/amounts.ts';
import { homeFolder } from '../../io/files/home.ts';

/** The file of the answers that are kept. */
export function cachePath(environment: NodeJS.ProcessEnv): string {
  return join(homeFolder(environment), 'cache.db');
}

const defaultMostBytes = 500e6;

/** How much the cache may hold: AUTOMATE_CACHE_MAX, else 500 MB. Throws an AutomateError (`usage`). */
export function mostCacheBytes({ AUTOMATE_CACHE_MAX: written }: NodeJS.ProcessEnv): number {
  if (written === undefined || written === '') return defaultMostBytes;
  const size = byteSize.safeParse(written);
  if (size.success) return size.data;
  throw new AutomateError('usage', `AUTOMATE_CACHE_MAX: ${size.error.issues[0]?.message}`);
}
