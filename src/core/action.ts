import type { Call } from './call.ts';
import type { Failure } from './failure.ts';
import type { LookupAnswer, LookupRequest, Lookups } from './lookup.ts';
import type { HttpRequest, HttpResponse } from './ports.ts';
import type { Fields } from './record.ts';
import type { McpConnection, Tool, ToolAnswer, ToolCall } from './tools.ts';
import type { ValuePath } from './value/value.ts';

/** A request that a node makes: to an HTTP server, to an MCP tool, or to local data. */
export type ActionRequest = HttpRequest | ToolCall | LookupRequest;

export type ActionResponse = HttpResponse | ToolAnswer | LookupAnswer;

/** A request that leaves this process. It has to wait for the gate (the rate limiter) of its origin. */
export type SentRequest = HttpRequest | ToolCall;

/** True for a request that is answered from embedded data or local files. */
export function isLocal(request: ActionRequest): request is LookupRequest {
  return 'kind' in request && request.kind === 'lookup';
}

/** True for a request that needs the answer of a lookup before it can be sent. */
export function isIncomplete(request: ActionRequest): boolean {
  return 'completion' in request && request.completion !== undefined;
}

/** Completes a request with the answer of its lookup. Returns undefined if the lookup found nothing. */
export async function completed(request: ActionRequest, lookups: Lookups): Promise<ActionRequest | undefined> {
  const completion = 'completion' in request ? request.completion : undefined;
  return completion ? completion.request((await lookups.find(completion.lookup)).body) : request;
}

/** Returns the gate of a request. Requests share a gate if they have the same origin and use the same credentials. */
export function gateOf(request: SentRequest): Call<unknown>['gate'] {
  if ('kind' in request) return { origin: request.origin, credential: request.auth?.credential };
  const { auth, secretBody, origin } = request;
  const isPlain = !secretBody && (auth === undefined || auth.length === 1);
  return { origin, credential: isPlain ? auth?.[0]?.credential : credentialsOf(request).join(' ') };
}

/** Returns first the credentials that sign the request, then the credentials in its body. */
function credentialsOf({ auth = [], secretBody }: HttpRequest): string[] {
  return [...auth.map(({ credential }) => credential), ...(secretBody?.credentials ?? [])];
}

/** Estimates the tokens and the cost of language model calls before the model answers. */
export interface TokenEstimate {
  /** Returns the number of tokens in a record's prompt, at 4 characters per token. Throws a Failure if the prompt cannot be rendered. */
  inputOf(fields: Fields): number;
  /** Maximum number of tokens in one answer. */
  readonly maxOutput: number;
  /** The cost at which the node ends the run. */
  readonly maxCost: number | undefined;
  /** Undefined if the flow states no price. */
  cost(input: number, output: number): number | undefined;
}

export interface CalledTool {
  readonly connection: McpConnection;
  /** `textCells` is true if the records are known to be rows of a table, in which numbers are text. */
  check(tools: readonly Tool[], textCells: boolean): readonly ToolProblem[];
}

/** A mistake in the options of a node that calls a tool. */
export interface ToolProblem {
  readonly at: ValuePath;
  /** True if the problem is in the argument's name rather than its value. */
  readonly isName?: boolean;
  readonly message: string;
}

export type Trace = (attempt: Attempt) => void;

/** A report of one attempt of a call. If the attempt fails, the call might be retried. */
export interface Attempt {
  /** Number of the record, or of the first record in a batch. */
  readonly record: number;
  readonly node: string;
  readonly request: ActionRequest;
  readonly ms: number;
  /** The HTTP status of the response, or `ok` or `error` for a tool's response. If no response arrived, it is the Failure. */
  readonly result: number | 'ok' | 'error' | Failure;
  /** Undefined unless the request asked for HTTP/2, and a response arrived. */
  readonly httpVersion?: HttpResponse['httpVersion'];
}
