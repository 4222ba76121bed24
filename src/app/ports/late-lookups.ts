import { fileURLToPath } from 'node:url';
import type { Lookups } from '../../core/lookups/lookup.ts';

/** Loads the code of the lookups with the first of them, since most flows have none. */
export function createLateLookups(): Lookups {
  let coming: Promise<Lookups> | undefined;
  let lookups: Lookups | undefined;
  return {
    find(request) {
      if (lookups) return lookups.find(request);
      coming ??= import('../../io/lookups/lookups.ts').then(({ createLookups }) => createLookups(dataFolder));
      return coming.then((loaded) => {
        lookups = loaded;
        return loaded.find(request);
      });
    },
  };
}

/** The folder of the embedded data: beside the bundle. */
export const dataFolder = fileURLToPath(new URL('data', import.meta.url));
