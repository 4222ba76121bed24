import type { ActionRequest } from '../action.ts';
import type { Lookups } from './lookup.ts';
import { chainTags } from './points.ts';

/** True for a request that names a chain. */
export function namesChain(request: ActionRequest): boolean {
  return 'chain' in request && request.chain !== undefined;
}

/** The request for the chain that it names. Undefined if no chain has that name. */
export async function withChain(request: ActionRequest, lookups: Lookups): Promise<ActionRequest | undefined> {
  const chain = 'chain' in request ? request.chain : undefined;
  if (!chain) return request;
  const { body } = await lookups.find({ kind: 'lookup', lookup: 'chain', query: chain.query });
  return body.match ? chain.request(chainTags(body.id as string | null, String(body.name))) : undefined;
}
