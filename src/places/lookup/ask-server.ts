import type { ActionRequest } from '../../core/action.ts';
import type { Action, CallPolicy } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { jsonOf } from '../../core/value/value.ts';
import { type Accepted, RequestCall } from '../../nodes/calling.ts';
import { askInBatches } from './ask-in-batches.ts';
import type { LookupServer } from './lookup.ts';
import type { Asking, LookupResults } from './lookup-results.ts';

/**
 * Builds the action for a lookup at a server. The requests for each record are sent one after another, or many records share one request.
 */
export function askServer(server: LookupServer, policy: Omit<CallPolicy, 'accept'>, results: LookupResults): Asking {
  const { batch, calls, credentials, maxAgeMs, publicServer } = server;
  const action: Action = {
    ...policy,
    // This process sends only one request at a time to a public server. All nodes, runs and calls share this limit.
    ...(publicServer !== undefined && { limit: { key: `public server ${publicServer}`, max: 1 } }),
    ...results.actionParts,
    prepare: (fields) => results.askedFor(server.requests(fields)[0], fields),
    accept(response: HttpResponse, _, record) {
      server.check(response);
      return results.answer(server.document([response], record as Fields), record as Fields, response);
    },
    credentials,
    ...(batch?.responseMode && { responseMode: batch.responseMode }),
    maxCalls: calls,
    minCalls: calls,
    lookup: { label: results.label, isLocal: false, publicServer },
    ...(maxAgeMs !== undefined && { cache: { maxAgeMs, key: cacheKey } }),
  };
  const checked: CallPolicy = { ...action, accept: (response: HttpResponse) => checkedResponse(server, response) };
  if (batch) return askInBatches(batch, action, checked, results);
  return {
    action,
    async ask(asked, context) {
      const { request, fields } = asked;
      const others = calls > 1 ? server.requests(fields).slice(1) : [];
      const responses: HttpResponse[] = [];
      for (const [index, each] of [request as HttpRequest, ...others].entries()) {
        const { response } = await context.call(new RequestCall(checked, each, fields, String(index)));
        responses.push(response as HttpResponse);
      }
      return results.rows(server.document(responses, fields), asked, context, responses.at(-1));
    },
  };
}

/** Checks a response before any record reads it, because many records can use the same response. */
function checkedResponse({ check }: LookupServer, response: HttpResponse): Accepted {
  check(response);
  return { status: response.status, header: response.header, body: null, response };
}

/** Returns the cache key of a request, without the secret that signs it. Requests with the same key have the same response. */
function cacheKey(request: ActionRequest): string {
  const { method, origin, path, body } = request as HttpRequest;
  return jsonOf(['lookup', method, origin + path, body ?? null]);
}
