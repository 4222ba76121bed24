import type { LookupAnswer, LookupRequest, Lookups } from '../../core/lookup.ts';
import type { LookupDocument, LookupQueries } from '../lookup.ts';

/** It returns no promise if its data is already in memory. */
type LookupFunction<Name extends keyof LookupQueries> = (query: LookupQueries[Name]) => LookupDocument | Promise<LookupDocument>;

/** For each kind of lookup, a function that imports the code and loads the data. `folder` contains the embedded data. */
const loaders: { readonly [Name in keyof LookupQueries]: (folder: string) => Promise<LookupFunction<Name>> } = {
  chain: async (folder) => (await import('./chains/chains.ts')).loadChains(folder),
  category: async (folder) => (await import('./categories/categories.ts')).loadCategories(folder),
  address: async (folder) => (await import('./geography/geography.ts')).loadAddresses(folder),
  point: async (folder) => (await import('./geography/geography.ts')).loadPoints(folder),
  points: async () => (await import('./points-data.ts')).findPoints,
};

/** The data for a kind of lookup is loaded when it is first needed. */
export function createLookups(folder: string): Lookups {
  const finders = new Map<string, LookupFunction<never> | Promise<LookupFunction<never>>>();
  return {
    find(request) {
      const finder = finders.get(request.lookup) ?? load(request.lookup as keyof LookupQueries);
      return finder instanceof Promise ? finder.then((loaded) => lookupAnswer(loaded, request)) : lookupAnswer(finder, request);
    },
  };

  function load(name: keyof LookupQueries): Promise<LookupFunction<never>> {
    const loading = loaders[name](folder).then((finder) => {
      finders.set(name, finder);
      return finder;
    });
    finders.set(name, loading);
    return loading;
  }
}

function lookupAnswer(find: LookupFunction<never>, { query }: LookupRequest): LookupAnswer | Promise<LookupAnswer> {
  const body = find(query as never);
  return body instanceof Promise ? body.then((found) => ({ kind: 'lookup', body: found })) : { kind: 'lookup', body };
}
