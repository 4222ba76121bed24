import type { ActionRequest } from '../../core/action.ts';
import type { Action, CallPolicy } from '../../core/node.ts';
import type { HttpRequest, HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { jsonOf } from '../../core/value/value.ts';
import { type Accepted, RequestCall } from '../calling.ts';
import { askInBatches } from './ask-in-batches.ts';
import type { LookupServer } from './lookup.ts';
import type { Asking, LookupResults } from './lookup-results.ts';

/** Asks a server: for each record with all of its requests, one after another, or for many records at once. */
export function askServer(server: LookupServer, policy: Omit<CallPolicy, 'accept'>, results: LookupResults): Asking {
  const { batch, calls, credentials, maxAgeMs, publicServer } = server;
  const action: Action = {
    ...policy,
    // A public server takes one request at a time from the whole process: nodes, runs and calls share the slot.
    ...(publicServer !== undefined && { limit: { key: `public server ${publicServer}`, max: 1 } }),
    ...results.actionParts,
    prepare: (fields) => results.askedFor(server.requests(fields)[0], fields),
    accept(response: HttpResponse, _, record) {
      server.check(response);
      return results.answer(server.document([response], record as Fields), record as Fields, response);
    },
    credentials,
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

/** A response may serve many records, so it is checked without any of them: each record reads it afterwards. */
function checkedResponse({ check }: LookupServer, response: HttpResponse): Accepted {
  check(response);
  return { status: response.status, header: response.header, body: null, response };
}

/** The key of a request in the cache, without the secret that signs it: two requests with one key have one answer. */
function cacheKey(request: ActionRequest): string {
  const { method, origin, path, body } = request as HttpRequest;
  return jsonOf(['lookup', method, origin + path, body ?? null]);
}
