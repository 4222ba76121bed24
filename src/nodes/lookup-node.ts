import {
  type Action,
  type ActionRequest,
  type ActionResponse,
  type CallPolicy,
  type FieldUse,
  type Reading,
  Unasked,
} from '../core/action.ts';
import { type Answer, compileMapping, type Mapping } from '../core/answer/mapping.ts';
import type { AttemptContext, Call } from '../core/call.ts';
import { Failure } from '../core/failure.ts';
import type { LookupDocument } from '../core/lookups/lookup.ts';
import { namesChain, withChain } from '../core/lookups/named-chain.ts';
import type { SourceName } from '../core/lookups/sources.ts';
import type { BuildContext, Node, NodeContext } from '../core/node.ts';
import type { HttpResponse } from '../core/ports.ts';
import { type Fields, withNulls } from '../core/record.ts';
import { callPolicy, mappedColumns, tryOption } from './call-policy.ts';
import { type Accepted, RequestCall, readMapped, sendRequest } from './calling.ts';
import { type LookupBatch, LookupBatches } from './lookup-batch.ts';
import type { LookupOptions } from './lookup-options.ts';
import { cacheKey, type LookupServer, serverPolicy } from './server-lookup.ts';

/** One lookup for each record: the parts in which lookups differ. */
export interface Lookup {
  /** As summaries name it. */
  readonly label: string;
  /** The sources of its answers. A chain that a request names is answered by the embedded chains besides. */
  readonly sources: readonly SourceName[];
  /** The map of a node without one: fields to paths into the answer document. */
  readonly defaultMap: Readonly<Record<string, string>>;
  readonly reads: readonly FieldUse[];
  /** Facts about the node for `validate`; absent for none. */
  readonly notes?: readonly string[];
  /** True if data on this machine answer it. */
  readonly isEmbedded: boolean;
  /** The file whose data answer it; absent for embedded data and servers. */
  readonly dataFile?: string;
  /** The name of the public server that answers it; absent for any other. */
  readonly publicServer?: string | undefined;
  /** The server that answers it; absent if data on this machine do. */
  readonly server?: LookupServer;
  /** The request for a record; absent if there is nothing to look up. Throws a Failure. */
  prepare(fields: Fields): ActionRequest | undefined;
  /** The way to ask for many records at once; absent if each has a request of its own. */
  readonly batch?: LookupBatch | undefined;
  /** Requests after the first, each with a part of the answer; absent for none. */
  readonly further?: { readonly count: number; prepare(fields: Fields): readonly ActionRequest[] };
  /** The document for a request whose chain is unknown: nothing is asked. Absent if no request names a chain. */
  readonly unknownChain?: LookupDocument;
  /** The answer document, or its part. Throws a Failure. */
  document(response: ActionResponse, request: ActionRequest | undefined, record: Fields | undefined): LookupDocument;
  /** Puts the parts of an answer together; absent if there is one only. */
  joined?(parts: readonly LookupDocument[]): LookupDocument;
  /** The fields of a match that have no value; absent for a lookup without such. */
  lacking?(document: LookupDocument): readonly string[];
  /** The maximum at which an answer was cut off; absent if it is whole. */
  cutOffAt?(document: LookupDocument): number | undefined;
  /** The question, for messages. */
  question(document: LookupDocument, record: Fields): string;
  /** The failure of a record for which nothing was found. */
  noMatch(document: LookupDocument, request: ActionRequest | undefined, record: Fields | undefined): string;
}

/** The failure of a record for which nothing was found (`no_match: reject`). */
class NoMatch extends Failure {
  constructor(
    message: string,
    readonly document: LookupDocument,
  ) {
    super('answer', message);
  }
}

/** Builds a node that looks something up for each record. */
export function lookupNode(options: LookupOptions, lookup: Lookup, context: BuildContext): Node | undefined {
  const connection = options.connection === undefined ? undefined : (context.connection(options.connection) ?? null);
  const mapping = tryOption(context, ['map'], () => compileMapping(options.map ?? lookup.defaultMap, options.when_empty));
  const policy = callPolicy(options, connection, context);
  const calls = 1 + (lookup.further?.count ?? 0);
  const maxAgeMs = lookup.server?.maxAgeMs;
  if (!mapping) return undefined;
  const alone: Action = {
    ...policy,
    accept(response, request, record) {
      lookup.server?.check(response as HttpResponse);
      const document = lookup.document(response, request, record);
      return acceptedAnswer(decided(lookup, options, { document, request, record }), response);
    },
    prepare: (fields) => lookup.prepare(fields) ?? new Unasked(withNulls(fields, mapping.fields)),
    read: (fields, answer) => readDocument(mapping, fields, answer),
    credentials: lookup.server?.credentials ?? [],
    expands: mapping.expands,
    maxCalls: calls,
    minCalls: calls,
    paths: mapping.paths,
    fields: mapping.fields,
    makesDocument: true,
    lookup: lookup.label,
    isEmbedded: lookup.isEmbedded,
    dataFile: lookup.dataFile,
    publicServer: lookup.publicServer,
    ...(maxAgeMs !== undefined && { cache: { maxAgeMs, key: cacheKey } }),
  };
  const { reads, notes = [], batch, server } = lookup;
  const batches = batch && server && new LookupBatches(batch, serverPolicy(alone, server));
  const action = batches ? inBatches(alone, batches) : alone;
  return { reads, notes, ...mappedColumns(mapping), action, run: lookUpEach(action, { lookup, options, batches }) };
}

/** The action of a node whose records share requests. */
function inBatches(action: Action, batches: LookupBatches): Action {
  const entryOf = (fields: Fields) => {
    const prepared = action.prepare(fields);
    return prepared instanceof Unasked ? prepared : batches.entryOf(fields);
  };
  // A refused batch of n is halved down to single records: at most 2n - 1 requests in all.
  return { ...action, batchSize: batches.size, maxCalls: batches.size > 1 ? 2 : 1, ...(batches.areOpenToAll ? {} : { entryOf }) };
}

/** A lookup's document, and its question. */
interface Found {
  readonly document: LookupDocument;
  readonly request: ActionRequest | undefined;
  readonly record: Fields | undefined;
}

/** The document, if the flow takes it. Throws a NoMatch if it wants a match. */
function decided(lookup: Lookup, { no_match: noMatch }: LookupOptions, { document, request, record }: Found): LookupDocument {
  if (!document.match && noMatch === 'reject') throw new NoMatch(lookup.noMatch(document, request, record), document);
  return document;
}

/** A document as `map` reads it, with the headers of the response that it was made of. */
function acceptedAnswer(body: LookupDocument, response: ActionResponse | undefined): Accepted {
  if (!response || 'kind' in response) return { status: undefined, header: noHeader, body };
  return { status: response.status, header: response.header, body, response };
}

const noHeader = () => undefined;

/** A document has all of its members, so a path counts as found only if it leads to a value that is not null. */
function readDocument(mapping: Mapping, fields: Fields, answer: Answer): Reading {
  const { rows, found } = readMapped(mapping, fields, answer);
  const hasValue = (field: string) => rows.some((row) => (row.get(field) ?? null) !== null);
  return { rows, found: mapping.fields.map((field, index) => found[index] === true && hasValue(field)) };
}

function documentOf({ body }: Answer): LookupDocument {
  return body as LookupDocument;
}

/** Makes the calls of a record, and reads their answers. */
type Ask = (request: ActionRequest, fields: Fields, context: NodeContext) => Promise<Answer>;

/** Asks a server: all requests of the record, one after another. */
function askServer(action: Action, lookup: Lookup, server: LookupServer, options: LookupOptions): Ask {
  const policy = serverPolicy(action, server);
  return async (first, fields, context) => {
    const parts: LookupDocument[] = [];
    let last: ActionResponse | undefined;
    for (const [index, request] of [first, ...(lookup.further?.prepare(fields) ?? [])].entries()) {
      const { response } = await context.call(new RequestCall(policy, request, fields, String(index)));
      last = response as ActionResponse;
      parts.push(lookup.document(last, request, fields));
    }
    const document = lookup.joined?.(parts) ?? (parts[0] as LookupDocument);
    return acceptedAnswer(decided(lookup, options, { document, request: first, record: fields }), last);
  };
}

/** Asks a server: one request for many records. */
function askTogether(batches: LookupBatches, lookup: Lookup, options: LookupOptions): Ask {
  return async (request, record, context) => {
    const { document, response } = await context.call(batches.entryOf(record));
    return acceptedAnswer(decided(lookup, options, { document, request, record }), response);
  };
}

/** Asks `ask`, once the chain is known that the request names. */
function askWithChain(ask: Ask, lookup: Lookup, options: LookupOptions): Ask {
  return async (named, record, context) => {
    const request = await withChain(named, context.lookups);
    if (request) return ask(request, record, context);
    const document = lookup.unknownChain as LookupDocument;
    return acceptedAnswer(decided(lookup, options, { document, request: named, record }), undefined);
  };
}

/** The sources that have answered a request. */
function sourcesOf({ sources, unknownChain }: Lookup, document: LookupDocument, request: ActionRequest): readonly SourceName[] {
  if (!namesChain(request)) return sources;
  return document === unknownChain ? chainSources : [...chainSources, ...sources];
}

const chainSources: readonly SourceName[] = ['name-suggestion-index'];

/** A lookup as it will run. */
interface Compiled {
  readonly lookup: Lookup;
  readonly options: LookupOptions;
  /** Absent if each record has a request of its own. */
  readonly batches: LookupBatches | undefined;
}

/** A record whose lookup is under way. */
interface Asked {
  readonly request: ActionRequest;
  readonly fields: Fields;
}

/** Takes the reports of a lookup. */
type Reports = Pick<NodeContext, 'report'>;

/** The end of a lookup: reports what was found, and makes the rows of the record. */
interface LookupEnd {
  /** Throws a Failure. */
  rows(answer: Answer, asked: Asked, context: Reports): readonly Fields[];
  failed(error: unknown, asked: Asked, context: Reports): never;
}

/** Runs a lookup for each record. */
function lookUpEach(action: Action, compiled: Compiled): Node['run'] {
  const { lookup, options, batches } = compiled;
  const { server } = lookup;
  const policy: CallPolicy = action;
  const askHere: Ask = (request, fields, context) => context.call(new RequestCall(policy, request, fields));
  const askThere = batches ? askTogether(batches, lookup, options) : server && askServer(action, lookup, server, options);
  const askNamed = askWithChain(askThere ?? askHere, lookup, options);
  const end = lookupEnd(action, compiled);
  return (fields, context) => {
    const request = action.prepare(fields);
    if (request instanceof Unasked) return Promise.resolve([request.row]);
    const asked = { request, fields };
    const ask = namesChain(request) ? askNamed : askThere;
    if (!ask) return context.call(new EmbeddedCall(action, end, asked));
    return ask(request, fields, context).then(
      (answer) => end.rows(answer, asked, context),
      (error) => end.failed(error, asked, context),
    );
  };
}

function lookupEnd(action: Action, { lookup, options }: Compiled): LookupEnd {
  const { label } = lookup;
  // Only the paths of the flow's own map are counted.
  const isMapped = options.map !== undefined;
  return {
    rows(answer, { request, fields }, context) {
      const document = documentOf(answer);
      const sources = sourcesOf(lookup, document, request);
      context.report({ type: 'looked-up', lookup: label, match: document.match, sources, ...findings(lookup, document, fields) });
      const { rows, found } = action.read(fields, answer);
      if (isMapped) context.report({ type: 'mapped', paths: action.paths, found });
      return rows;
    },
    failed(error, { request }, context) {
      if (error instanceof NoMatch)
        context.report({ type: 'looked-up', lookup: label, match: false, sources: sourcesOf(lookup, error.document, request) });
      throw error;
    },
  };
}

/** Facts about a match that the summary counts; absent for most. */
function findings(lookup: Lookup, document: LookupDocument, fields: Fields) {
  const lacking = lookup.lacking?.(document);
  const cutOffAt = lookup.cutOffAt?.(document);
  if (!document.ambiguous && !lacking && cutOffAt === undefined) return undefined;
  return {
    ...(document.ambiguous && { ambiguous: lookup.question(document, fields) }),
    ...(lacking && { lacking }),
    ...(cutOffAt !== undefined && { cutOffAt }),
  };
}

/** A call that data on this machine answer. It makes the rows at once: thousands of documents that wait would be garbage that survives. */
class EmbeddedCall implements Call<readonly Fields[]> {
  readonly #action: Action;
  readonly #end: LookupEnd;
  readonly #asked: Asked;

  constructor(action: Action, end: LookupEnd, asked: Asked) {
    this.#action = action;
    this.#end = end;
    this.#asked = asked;
  }

  get gate(): undefined {
    return undefined;
  }

  get intervalMs(): undefined {
    return undefined;
  }

  get limit(): CallPolicy['limit'] {
    return this.#action.limit;
  }

  get retry(): CallPolicy['retry'] {
    return this.#action.retry;
  }

  attempt(context: AttemptContext): Promise<readonly Fields[]> {
    const response = sendRequest(this.#asked.request, context);
    // Data in memory answer at once: no turn of the queue for each record.
    if (!(response instanceof Promise)) return Promise.resolve(this.#rows(response, context));
    return response.then((response) => this.#rows(response, context));
  }

  askedToWaitMs(): undefined {
    return undefined;
  }

  #rows(response: ActionResponse, context: AttemptContext): readonly Fields[] {
    const { request, fields } = this.#asked;
    try {
      return this.#end.rows(this.#action.accept(response, request, fields), this.#asked, context);
    } catch (error) {
      return this.#end.failed(error, this.#asked, context);
    }
  }
}
