import { fileURLToPath } from 'node:url';
import type { Lookups } from '../core/lookup.ts';

/** Creates lookups whose code is loaded on the first lookup, because most flows look nothing up. */
export function createLateLookups(): Lookups {
  let coming: Promise<Lookups> | undefined;
  let lookups: Lookups | undefined;
  return {
    find(request) {
      if (lookups) return lookups.find(request);
      coming ??= import('./data/lookups.ts').then(({ createLookups }) => createLookups(dataFolder));
      return coming.then((loaded) => {
        lookups = loaded;
        return loaded.find(request);
      });
    },
  };
}

/** The folder is next to the bundled program. */
export const dataFolder = fileURLToPath(new URL('data', import.meta.url));
