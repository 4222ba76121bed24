import { type Action, type Node, Unasked } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { orUndefined } from '../../core/value/value.ts';
import { createClock } from '../../files/clock.ts';
import type { NodeRequest } from './page-shapes.ts';

/** The request of each node that sends one, for a reader: with references to fields, and without what only a record can tell. */
export function nodeRequests(plan: Plan): NodeRequest[] {
  return allSteps(plan.steps).flatMap(({ id, node }) => {
    const { action } = node;
    const request = action && (action.written ?? orUndefined(() => exampleRequest(action, node)));
    return request ? [{ id, ...request }] : [];
  });
}

/** Undefined for a node that looks something up in local data. Throws a Failure if no request can be made without a record. */
function exampleRequest(action: Action, { reads }: Node): Omit<NodeRequest, 'id'> | undefined {
  const fields = new Map(reads.map(({ field }) => [field, `{{${field}}}`]));
  const request = action.prepare(fields, createClock());
  if (request instanceof Unasked) return undefined;
  if (!('kind' in request)) return { method: request.method, url: request.origin + request.path.replace(/\?.*/s, '') };
  return request.kind === 'tool' ? { method: 'tool', url: request.tool } : undefined;
}
