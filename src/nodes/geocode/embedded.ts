import type { LookupAnswer } from '../../core/lookups/lookup.ts';
import type { Provider } from './provider.ts';

/** `provider: embedded`: the places of GeoNames that are part of automate. */
export const embedded: Provider = {
  sources: ['geonames'],
  isEmbedded: true,
  request: (query) => ('address' in query ? { kind: 'lookup', lookup: 'address', query } : { kind: 'lookup', lookup: 'point', query }),
  document: (response) => (response as LookupAnswer).body,
};
