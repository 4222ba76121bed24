import { type Action, type ActionRequest, type ActionResponse, type CallPolicy, type FieldUse, Unasked } from '../core/action.ts';
import { type Answer, compileMapping, type Mapping } from '../core/answer/mapping.ts';
import { Failure } from '../core/failure.ts';
import type { LookupDocument } from '../core/lookups/lookup.ts';
import type { SourceName } from '../core/lookups/sources.ts';
import type { BuildContext, Node } from '../core/node.ts';
import { type Fields, withFields } from '../core/record.ts';
import { callPolicy, mappedColumns, tryOption } from './call-policy.ts';
import { RequestCall, readMapped } from './calling.ts';
import type { LookupOptions } from './lookup-options.ts';

/** One lookup for each record: the parts in which lookups differ. */
export interface Lookup {
  /** As summaries name it. */
  readonly label: string;
  readonly sources: readonly SourceName[];
  /** The map of a node without one: fields to paths into the answer document. */
  readonly defaultMap: Readonly<Record<string, string>>;
  readonly reads: readonly FieldUse[];
  /** Facts about the node for `validate`; absent for none. */
  readonly notes?: readonly string[];
  /** True if data on this machine answer it. */
  readonly isEmbedded: boolean;
  /** The request for a record; absent if there is nothing to look up. Throws a Failure. */
  prepare(fields: Fields): ActionRequest | undefined;
  /** The answer document. Throws a Failure. */
  document(response: ActionResponse, request: ActionRequest | undefined): LookupDocument;
  /** The question, for messages. */
  question(document: LookupDocument): string;
  /** The failure of a record for which nothing was found. */
  noMatch(document: LookupDocument, request: ActionRequest | undefined): string;
}

/** The failure of a record for which nothing was found (`no_match: reject`). */
class NoMatch extends Failure {}

/** Builds a node that looks something up for each record. */
export function lookupNode(options: LookupOptions, lookup: Lookup, context: BuildContext): Node | undefined {
  const connection = options.connection === undefined ? undefined : (context.connection(options.connection) ?? null);
  const mapping = tryOption(context, ['map'], () => compileMapping(options.map ?? lookup.defaultMap, options.when_empty));
  const policy = callPolicy(options, connection, context);
  if (!mapping) return undefined;
  const action: Action = {
    ...policy,
    accept: (response, request) => accepted(lookup, options, response, request),
    prepare: (fields) => lookup.prepare(fields) ?? new Unasked(withFields(fields, mapping.fields.map(empty))),
    read: (fields, answer) => readDocument(mapping, fields, answer),
    credentials: [],
    expands: mapping.expands,
    maxCalls: 1,
    paths: mapping.paths,
    fields: mapping.fields,
    makesDocument: true,
    lookup: lookup.label,
    isEmbedded: lookup.isEmbedded,
  };
  const { reads, notes = [] } = lookup;
  return { reads, notes, ...mappedColumns(mapping), action, run: lookUpEach(action, lookup, options.map !== undefined) };
}

const empty = (field: string) => [field, null] as const;

function accepted(
  lookup: Lookup,
  { no_match: noMatch }: LookupOptions,
  response: ActionResponse,
  request: ActionRequest | undefined,
): Answer {
  const body = lookup.document(response, request);
  if (!body.match && noMatch === 'reject') throw new NoMatch('answer', lookup.noMatch(body, request));
  return { status: undefined, header: noHeader, body };
}

const noHeader = () => undefined;

/** Without a match no path counts as found. */
function readDocument(mapping: Mapping, fields: Fields, answer: Answer): ReturnType<Action['read']> {
  const reading = readMapped(mapping, fields, answer);
  return documentOf(answer).match ? reading : { ...reading, found: reading.found.map(() => false) };
}

function documentOf({ body }: Answer): LookupDocument {
  return body as LookupDocument;
}

/** Runs a lookup for each record. `isMapped`: the flow has a map, whose paths the summary counts. */
function lookUpEach(action: Action, lookup: Lookup, isMapped: boolean): Node['run'] {
  const { label, sources } = lookup;
  const policy: CallPolicy = action;
  return (fields, context) => {
    const request = action.prepare(fields);
    if (request instanceof Unasked) return Promise.resolve([request.row]);
    return context.call(new RequestCall(policy, request, fields)).then(
      (answer) => {
        const document = documentOf(answer);
        const ambiguous = document.ambiguous ? { ambiguous: lookup.question(document) } : {};
        context.report({ type: 'looked-up', lookup: label, match: document.match, ...ambiguous, sources });
        const { rows, found } = action.read(fields, answer);
        if (isMapped) context.report({ type: 'mapped', paths: action.paths, found });
        return rows;
      },
      (error) => {
        if (error instanceof NoMatch) context.report({ type: 'looked-up', lookup: label, match: false, sources });
        throw error;
      },
    );
  };
}
