import type { LookupAnswer, LookupRequest } from '../../core/lookups/lookup.ts';
import type { CallPolicy } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import type { LocalData } from './lookup.ts';
import type { Asking, LookupResults } from './lookup-results.ts';

/** Asks data on this machine. A lookup costs credits and is reported as any call, but passes no gate and is not retried. */
export function askLocalData(data: LocalData, policy: Omit<CallPolicy, 'accept'>, results: LookupResults): Asking {
  const documentOf = ({ body }: LookupAnswer, request: LookupRequest) => data.document?.(body, request) ?? body;
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
      // The call makes the rows: thousands of documents that wait for their rows would be garbage that survives.
      const rows = (found: LookupAnswer) => results.rows(documentOf(found, request), asked, context);
      return context.call({
        answer({ lookups }) {
          const found = lookups.find(request);
          // Data in memory answer at once: no turn of the queue for each record.
          return found instanceof Promise ? found.then(rows) : rows(found);
        },
      });
    },
  };
}
