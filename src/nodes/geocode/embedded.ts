import type { LookupAnswer, LookupRequest } from '../../core/lookups/lookup.ts';
import type { Lookup } from '../lookup-node.ts';
import type { Question } from './question.ts';

/** `provider: embedded`: the places of GeoNames that are part of automate. */
export const embedded = {
  sources: ['geonames'],
  isEmbedded: true,
  document: (response) => (response as LookupAnswer).body,
} as const satisfies Partial<Lookup>;

/** The request for the answer to a question. */
export function embeddedRequest(query: Question): LookupRequest {
  return 'address' in query ? { kind: 'lookup', lookup: 'address', query } : { kind: 'lookup', lookup: 'point', query };
}
