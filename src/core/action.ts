import type { Call } from './call.ts';
import type { Failure } from './failure.ts';
import type { LookupAnswer, LookupRequest } from './lookups/lookup.ts';
import type { HttpRequest, HttpResponse } from './ports.ts';
import type { Fields } from './record.ts';
import type { McpConnection, Tool, ToolAnswer, ToolCall } from './tools/tools.ts';

/** A request that a node sends. */
export type ActionRequest = HttpRequest | ToolCall | LookupRequest;

/** The response to a request. */
export type ActionResponse = HttpResponse | ToolAnswer | LookupAnswer;

/** A request that leaves this process: it passes a gate. */
export type SentRequest = HttpRequest | ToolCall;

/** True for a request that data on this machine answer. */
export function isLocal(request: ActionRequest): request is LookupRequest {
  return 'kind' in request && request.kind === 'lookup';
}

/** The gate of a request: its origin, and the credentials that sign it. */
export function gateOf(request: SentRequest): Call<unknown>['gate'] {
  if ('kind' in request) return { origin: request.origin, credential: request.auth?.credential };
  const { auth, secretBody, origin } = request;
  const isPlain = !secretBody && (auth === undefined || auth.length === 1);
  return { origin, credential: isPlain ? auth?.[0]?.credential : credentialsOf(request).join(' ') };
}

/** The credentials whose secrets a request carries: first the credentials that sign it, then the credentials in its body. */
export function credentialsOf({ auth = [], secretBody }: HttpRequest): string[] {
  return [...auth.map(({ credential }) => credential), ...(secretBody?.credentials ?? [])];
}

/** The tokens of questions to a language model, as far as they are known before the model answers. */
export interface TokenEstimate {
  /** Tokens of the question for a record, at 4 characters each. Throws a Failure. */
  inputOf(fields: Fields): number;
  /** Longest answer. */
  readonly maxOutput: number;
  /** The cost at which the node ends the run; undefined without a maximum. */
  readonly maxCost: number | undefined;
  /** The cost of tokens; undefined if the flow states no price. */
  cost(input: number, output: number): number | undefined;
}

/** The tool that a node calls. */
export interface CalledTool {
  readonly connection: McpConnection;
  /** Checks the node against the tools that the server has. `isTable`: true if the records are known to be rows of a table. */
  check(tools: readonly Tool[], isTable: boolean): readonly ToolProblem[];
}

/** Something wrong with a node that calls a tool. */
export interface ToolProblem {
  readonly at: readonly (string | number)[];
  /** True if the name at that place is meant, and not the value. */
  readonly isName?: boolean;
  readonly message: string;
}

/** Takes every attempt of a run. */
export type Trace = (attempt: Attempt) => void;

/** One attempt of a call, as a trace reports it. */
export interface Attempt {
  /** Number of the record, or of the first of a batch. */
  readonly record: number;
  readonly node: string;
  readonly request: ActionRequest;
  readonly ms: number;
  /** The status of an HTTP answer, `ok` or `error` of a tool's, or the reason why there is no answer. */
  readonly result: number | 'ok' | 'error' | Failure;
}
