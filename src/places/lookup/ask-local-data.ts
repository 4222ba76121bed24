import type { LookupAnswer, LookupRequest } from '../../core/lookup.ts';
import type { CallPolicy } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import type { LookupDocument } from '../lookup.ts';
import type { LocalData } from './lookup.ts';
import type { Asking, LookupResults } from './lookup-results.ts';

/**
 * Builds the action for a lookup in local data. Like any call, the lookup costs credits and is reported. It waits for no rate limit and is
 * never retried.
 */
export function askLocalData(data: LocalData, policy: Omit<CallPolicy, 'accept'>, results: LookupResults): Asking {
  const documentOf = ({ body }: LookupAnswer, request: LookupRequest) => {
    const found = body as LookupDocument;
    return data.document?.(found, request) ?? found;
  };
  return {
    action: {
      ...policy,
      ...results.actionParts,
      prepare: (fields) => results.askedFor(data.request(fields), fields),
      accept: (found: LookupAnswer, request, record) => results.answer(documentOf(found, request as LookupRequest), record as Fields),
      credentials: [],
      maxCalls: 1,
      lookup: { label: results.label, isLocal: true, dataFile: data.file },
    },
    ask(asked, context) {
      const request = asked.request as LookupRequest;
      // The rows are created within the call. Otherwise, thousands of documents would stay in memory until they become rows.
      const rows = (found: LookupAnswer) => results.rows(documentOf(found, request), asked, context);
      return context.call({
        answer({ lookups }) {
          const found = lookups.find(request);
          // A lookup in memory finishes immediately, so the record does not wait for a turn of the event loop.
          return found instanceof Promise ? found.then(rows) : rows(found);
        },
      });
    },
  };
}
