import type { Answer } from './answer/mapping.ts';
import type { Path } from './answer/path.ts';
import type { ResponseMode } from './answer/response.ts';
import type { SecretUse } from './auth/auth-type.ts';
import type { BatchEntry } from './batch.ts';
import type { Call, RetryPolicy } from './call.ts';
import type { Failure } from './failure.ts';
import type { LookupAnswer, LookupRequest } from './lookups/lookup.ts';
import type { HttpRequest, HttpResponse } from './ports.ts';
import type { Fields } from './record.ts';
import type { McpConnection, Tool, ToolAnswer, ToolCall } from './tools/tools.ts';

/** The place in a node's options where it reads a field. */
export interface FieldUse {
  readonly field: string;
  readonly at: readonly (string | number)[];
  /** True if the name at that place is meant, and not the value. */
  readonly isName?: boolean;
  /** The reference as it is written there; absent for the field itself, or `{{field}}`. */
  readonly written?: string;
}

/** A credential that a node names, and the place where it does. */
export interface CredentialNeed extends FieldUse, SecretUse {
  /** The way to get one; absent if `credentials set` is the way. */
  readonly wayOut?: string;
  /** The place where such a secret is had; absent if its owner knows. */
  readonly hint?: string;
}

/** A request that a node sends. */
export type ActionRequest = HttpRequest | ToolCall | LookupRequest;

/** The response to it. */
export type ActionResponse = HttpResponse | ToolAnswer | LookupAnswer;

/** The gate of a request: its origin, and the credentials that sign it. Absent if data on this machine answer it. */
export function gateOf(request: ActionRequest): Call<unknown>['gate'] {
  if ('kind' in request) return request.kind === 'lookup' ? undefined : { origin: request.origin, credential: request.auth?.credential };
  const { auth, secretBody, origin } = request;
  const isPlain = !secretBody && (auth === undefined || auth.length === 1);
  return { origin, credential: isPlain ? auth?.[0]?.credential : credentialsOf(request).join(' ') };
}

/** The credentials whose secrets a request carries: those that sign it, then those in its body. */
export function credentialsOf({ auth = [], secretBody }: HttpRequest): string[] {
  return [...auth.map(({ credential }) => credential), ...(secretBody?.credentials ?? [])];
}

/** The result of `prepare` for a record that needs no request: the record goes on as `row`. */
export class Unasked {
  constructor(readonly row: Fields) {}
}

/** The output records that an answer leads to. */
export interface Reading {
  readonly rows: readonly Fields[];
  /** For each path of the map, true if it was found in the answer. */
  readonly found: readonly boolean[];
}

/** The rules for every call of a node. */
export interface CallPolicy {
  /** Calls with the same key share the maximum of calls in flight, over all runs of the process. */
  readonly limit: { readonly key: string; readonly max: number };
  /** Ms between two calls; absent for no limit. */
  readonly intervalMs: number | undefined;
  readonly retry: RetryPolicy;
  /** The failures that are retried: statuses, classes of statuses, kinds of failures. */
  readonly retryOn: readonly (string | number)[];
  /** Path to the real cost in an answer; absent when answers do not say. */
  readonly cost: Path | undefined;
  /** Credits for one call, and the connection it goes over; absent for none. `isStated`: the flow or the connection names another price than the default. */
  readonly price: { readonly credits: number; readonly isStated: boolean; readonly connection: string | undefined };
  /** Answers that may come from the cache; absent when none may. */
  readonly cache?: { readonly maxAgeMs: number; key(request: ActionRequest, record?: Fields): string };
  /** True if the flow says which answers are errors: then a list of errors in a success is meant. */
  readonly judgesAnswers?: boolean;
  /** True if each request gets an Idempotency-Key. */
  readonly hasIdempotencyKey?: boolean;
  /** Takes a response as a success, and reads its body. `record`: absent in a batch. Throws a Failure for any other. */
  accept(response: ActionResponse, request?: ActionRequest, record?: Fields): Answer;
}

/** A call that a node makes for a record. The run, test-request and the dry run all use this one description. */
export interface Action extends CallPolicy {
  readonly credentials: readonly CredentialNeed[];
  /** The request for a record. Throws a Failure. */
  prepare(fields: Fields): ActionRequest | Unasked;
  /** The output records from an accepted answer to that request. Throws a Failure. */
  read(fields: Fields, answer: Answer): Reading;
  /** True if one record can become several. */
  readonly expands: boolean;
  /** Maximum of calls for one record, retries not counted. */
  readonly maxCalls: number;
  /** Calls that every record makes, if they succeed; absent for one. */
  readonly minCalls?: number;
  /** Maximum of records that share a call; absent if each has its own. */
  readonly batchSize?: number | undefined;
  /** The entry of a record in a batch; absent if any records can share a call. */
  readonly entryOf?: (fields: Fields) => BatchEntry<unknown> | Unasked;
  /** The map's paths and the fields they add, in order; empty without a map. */
  readonly paths: readonly string[];
  readonly fields: readonly string[];
  /** The way HTTP bodies are read; absent for `auto`. */
  readonly responseMode?: ResponseMode;
  /** True if `map` reads a document that is made of the answer. */
  readonly makesDocument?: boolean;
  /** Only of a node that asks a language model. */
  readonly tokens?: TokenEstimate;
  /** Only of a node that calls a tool. */
  readonly tool?: CalledTool;
  /** The name of the lookup that it is, for summaries; absent for any other action. */
  readonly lookup?: string;
  /** The name of the public server that it asks; absent for any other. */
  readonly publicServer?: string | undefined;
  /** True if data on this machine answer it: no gate, and no time in flight. */
  readonly isEmbedded?: boolean;
  /** The file whose data answer it; absent for any other. */
  readonly dataFile?: string | undefined;
}

/** The tokens of questions to a language model, as far as they are known before one is asked. */
export interface TokenEstimate {
  /** Tokens of the question for a record, at 4 characters each. Throws a Failure. */
  inputOf(fields: Fields): number;
  /** Longest answer. */
  readonly maxOutput: number;
  /** The cost of tokens; absent without a price. */
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

/** One attempt of a call, for those who watch a run. */
export interface Attempt {
  /** Number of the record, or of the first of a batch. */
  readonly record: number;
  readonly node: string;
  readonly request: ActionRequest;
  readonly ms: number;
  /** The status of an HTTP answer, `ok` or `error` of a tool's, or the reason why there is no answer. */
  readonly result: number | 'ok' | 'error' | Failure;
}
