import type { ActionRequest } from '../action.ts';
import type { Lookups } from './lookup.ts';
import { chainTags } from './points.ts';

/** True for a request that refers to a retail chain by name. */
export function namesChain(request: ActionRequest): boolean {
  return 'chain' in request && request.chain !== undefined;
}

/** Looks up the retail chain that the request names. Returns the request with the chain's tags; undefined if no chain has that name. */
export async function withChain(request: ActionRequest, lookups: Lookups): Promise<ActionRequest | undefined> {
  const chain = 'chain' in request ? request.chain : undefined;
  if (!chain) return request;
  const { body } = await lookups.find({ kind: 'lookup', lookup: 'chain', query: chain.query });
  return body.match ? chain.request(chainTags(body.id as string | null, String(body.name))) : undefined;
}
