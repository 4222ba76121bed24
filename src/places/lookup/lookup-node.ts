import { completed, isIncomplete } from '../../core/action.ts';
import { compileMapping, type Mapping } from '../../core/answer/mapping.ts';
import type { LookupAnswer, LookupRequest } from '../../core/lookup.ts';
import { type BuildContext, type CallPolicy, type Node, type NodeContext, Unasked } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { callPolicy, connectionOf, mappedColumns, tryOption } from '../../nodes/call-policy.ts';
import type { LookupDocument } from '../lookup.ts';
import type { SourceName } from '../sources.ts';
import { askServer } from './ask-server.ts';
import type { LocalData, Lookup, LookupOptions } from './lookup.ts';
import { type AskedRecord, type Asking, LookupResults } from './lookup-results.ts';

export function lookupNode(options: LookupOptions, lookup: Lookup, context: BuildContext): Node | undefined {
  const { answerer, reads, notes = [] } = lookup;
  // Limits from the command line must not override the limits of a public server.
  const isPublic = 'publicServer' in answerer && answerer.publicServer !== undefined;
  const policy = callPolicy(options, connectionOf(options, context), isPublic ? { ...context, overrides: {} } : context);
  const mapping = tryOption(context, ['map'], () => documentMapping(options, lookup));
  if (!mapping) return undefined;
  const results = new LookupResults(lookup, options, mapping);
  const asking = 'requests' in answerer ? askServer(answerer, policy, results) : askLocalData(answerer, policy, results);
  return { reads, notes, ...mappedColumns(mapping), action: asking.action, run: lookUpEach(asking, lookup, results) };
}

/** Throws an Error with the reason if the map is invalid. */
function documentMapping({ map, when_empty: whenEmpty }: LookupOptions, { defaultMap }: Lookup): Mapping {
  const mapping = compileMapping(map ?? defaultMap, whenEmpty);
  if (mapping.readsFacts) throw new Error('a lookup has no $url, $at, $ms, $attempts and $cached; expected paths into its document');
  return mapping;
}

function lookUpEach({ action, ask }: Asking, { sources, unknownChain }: Lookup, results: LookupResults): Node['run'] {
  return (fields, context) => {
    const request = action.prepare(fields, context.clock);
    if (request instanceof Unasked) return Promise.resolve([request.row]);
    const asked = { request, fields, sources };
    return isIncomplete(request) ? askWithChain(asked, context) : ask(asked, context);
  };

  /** Looks up the retail chain to which a request refers, and then sends the request. If no chain has that name, no request is sent. */
  async function askWithChain(asked: AskedRecord, context: NodeContext) {
    const request = await completed(asked.request, context.lookups);
    if (request) return ask({ ...asked, request, sources: [...chainSources, ...sources] }, context);
    return results.rows(unknownChain as LookupDocument, { ...asked, sources: chainSources }, context);
  }
}

const chainSources: readonly SourceName[] = ['name-suggestion-index'];

/** The lookup costs credits and is reported, but waits for no rate limit and is never retried. */
function askLocalData(data: LocalData, policy: Omit<CallPolicy, 'accept'>, results: LookupResults): Asking {
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
