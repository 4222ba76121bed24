import { completed, isIncomplete } from '../../core/action.ts';
import { compileMapping } from '../../core/answer/mapping.ts';
import { type BuildContext, type Node, type NodeContext, Unasked } from '../../core/node.ts';
import { callPolicy, connectionOf, mappedColumns, tryOption } from '../../nodes/call-policy.ts';
import type { LookupDocument } from '../lookup.ts';
import type { SourceName } from '../sources.ts';
import { askLocalData } from './ask-local-data.ts';
import { askServer } from './ask-server.ts';
import type { Lookup } from './lookup.ts';
import type { LookupOptions } from './lookup-options.ts';
import { type AskedRecord, type Asking, LookupResults } from './lookup-results.ts';

/** Builds a node that looks something up for each record; undefined if a problem was reported. */
export function lookupNode(options: LookupOptions, lookup: Lookup, context: BuildContext): Node | undefined {
  const policy = callPolicy(options, connectionOf(options, context), context);
  const mapping = tryOption(context, ['map'], () => compileMapping(options.map ?? lookup.defaultMap, options.when_empty));
  if (!mapping) return undefined;
  const { answerer, reads, notes = [] } = lookup;
  const results = new LookupResults(lookup, options, mapping);
  const asking = 'requests' in answerer ? askServer(answerer, policy, results) : askLocalData(answerer, policy, results);
  return { reads, notes, ...mappedColumns(mapping), action: asking.action, run: lookUpEach(asking, lookup, results) };
}

function lookUpEach({ action, ask }: Asking, { sources, unknownChain }: Lookup, results: LookupResults): Node['run'] {
  return (fields, context) => {
    const request = action.prepare(fields);
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
