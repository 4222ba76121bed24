import type * as z from 'zod';
import type { ActionRequest, ActionResponse, CalledTool, TokenEstimate } from './action.ts';
import type { Answer } from './answer/mapping.ts';
import type { Path } from './answer/path.ts';
import type { ResponseMode } from './answer/response.ts';
import type { SecretUse } from './auth/auth-type.ts';
import type { LoginNeed } from './auth/login-need.ts';
import type { BatchEntry } from './batch.ts';
import type { Call, CallLimit, LastAnswer, LocalCall, RetryPolicy } from './call.ts';
import type { Expression } from './condition/condition.ts';
import type { HttpConnection } from './connection.ts';
import type { CodedMessage } from './error-code.ts';
import type { NodeEvent } from './event.ts';
import type { NamedCategory } from './lookups/category.ts';
import type { Lookups } from './lookups/lookup.ts';
import type { Concurrency } from './options/amounts.ts';
import type { Fields } from './record.ts';
import type { McpConnection } from './tools/tools.ts';

/*
 * This page is for authors of node types: it is all that they need to know of the engine.
 *
 * A node type is one file in src/nodes, a line in nodes/index.ts, and a test in test/features. Its options are a zod schema; its
 * help, checks, defaults, JSON Schema and documentation follow from that. `build` compiles the options of one node, once; the node
 * then gets each record as `fields`, and answers rows: none drops the record, several expand it. A record fails with a thrown
 * Failure, and the run goes on. A node never changes the fields that it gets, and keeps nothing between records: thousands of them
 * may be under way.
 *
 *   const greet = defineNode({
 *     name: 'greet',
 *     summary: 'Greet: adds a greeting to each record',
 *     example: '- type: greet\n  text: "Hello {{name}}"',
 *     options: z.strictObject({ text: z.string().describe('the greeting; {{field}} inserts a field') }),
 *     build({ text }) {
 *       const render = textTemplate(text);
 *       return {
 *         reads: usesWithin(text, ['text']),
 *         columns: (before) => [...new Set([...before, 'greeting'])],
 *         run: async (fields) => [withFields(fields, [['greeting', render(fields)]])],
 *       };
 *     },
 *   });
 *
 * A node that asks a server describes its call as an `action`: `prepare` makes the request of a record, `accept` reads the answer,
 * `read` makes the rows. All three are pure. `callPolicy` and `callEach` (src/nodes) do the rest: the engine holds a credit, passes
 * the gate, sends, retries and caches, and test-request and --dry-run use the same action.
 *
 *   const users = defineNode({
 *     name: 'users',
 *     summary: 'Users: adds the name of a user',
 *     example: '- type: users\n  id: "{{user_id}}"',
 *     options: z.strictObject({ id: z.string().describe('the id; {{field}} inserts a field'), ...lookupOptions }),
 *     build(options, context) {
 *       const { get, credentials } = serverRequests({ server: 'https://users.example.com', options }, context);
 *       const idOf = textTemplate(options.id);
 *       const mapping = compileMapping({ user_name: 'name' }, 'keep');
 *       const { paths, fields, expands } = mapping;
 *       const action: Action = {
 *         ...callPolicy(options, connectionOf(options, context), context),
 *         prepare: (record) => get(`/users/${encodeURIComponent(idOf(record))}`),
 *         accept(response: HttpResponse) {
 *           refuseUnsuccessful(response, options);
 *           return { status: response.status, header: response.header, body: readBody(response, 'json', true) };
 *         },
 *         read: (record, answer) => readMapped(mapping, record, answer),
 *         credentials,
 *         maxCalls: 1,
 *         paths,
 *         fields,
 *         expands,
 *       };
 *       return { reads: usesWithin(options.id, ['id']), ...mappedColumns(mapping), action, run: callEach(action) };
 *     },
 *   });
 */

/** A kind of node: its options declared once, for checks, help, defaults and JSON Schema. */
export interface NodeType<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** One line for the list of node types. */
  readonly summary: string;
  /** An example in YAML. */
  readonly example: string;
  readonly options: z.ZodObject<Shape>;
  /** Builds a node from its checked options; undefined if a problem was reported. */
  build(options: z.output<z.ZodObject<Shape>>, context: BuildContext): Node | undefined;
}

/** Declares a node type. */
export function defineNode<Shape extends z.ZodRawShape>(type: NodeType<Shape>): NodeType {
  return type as unknown as NodeType;
}

/** The services of the compiler for a node type that turns options into a node. */
export interface BuildContext {
  readonly id: string;
  /** The name of the flow. */
  readonly flow: string;
  readonly overrides: LimitOverrides;
  /** The connection of that name. Undefined if the flow has none: then the problem is reported at `connection`. */
  connection(name: string): HttpConnection | undefined;
  /** The connection to an MCP server of that name. Undefined if the flow has none: then the problem is reported at `connection`. */
  mcpConnection(name: string): McpConnection | undefined;
  readonly allowHttp: boolean;
  /** False if there is no folder for files, and none will be named. */
  readonly takesFiles: boolean;
  /** Hosts inside the network that a record may name. */
  readonly allowHosts: readonly string[];
  /** The origins that the flow names literally: only these origins get credentials. Complete once the flow is compiled. */
  readonly literalOrigins: Set<string>;
  /** Compiles the inner nodes, written at `nodes`. `carried`: as in `Inner`. Undefined if a problem was reported. */
  inner(written: readonly unknown[], carried?: readonly string[]): readonly Step[] | undefined;
  /** The category that words in the flow name, or why they name none. */
  category(words: string): NamedCategory;
  /** True if a field comes from a table, where a number is written as a text. */
  isCell(field: string): boolean;
  /** Reports a problem with the option at that place. `within`: 0-based, in the option's text. */
  problem(at: readonly (string | number)[], message: string | CodedMessage, within?: number): void;
  /** Warns of something that is likely not meant. */
  warn(at: readonly (string | number)[], message: string): void;
  /** Warns of an expression that can never be true of a table's cells. `nameBefore`: the name of a field before the node; undefined if the node renames none. */
  warnOfCells(at: readonly (string | number)[], expression: Expression<unknown>, nameBefore?: (field: string) => string): void;
}

/** Limits given on the command line: they replace those of every node and connection. */
export interface LimitOverrides {
  /** Maximum number of calls in flight. */
  readonly concurrency?: Concurrency | undefined;
  /** Ms between two calls. */
  readonly intervalMs?: number | undefined;
}

/** A node as it will run. */
export interface Node {
  /** The fields that it reads: references that no record can satisfy are problems of the flow. */
  readonly reads: readonly FieldUse[];
  /** The columns after this node, from the columns before it. */
  columns(before: readonly string[]): string[];
  /** Answers a record's rows: none drops it, several expand it. Throws a Failure: this record failed. */
  run(fields: Fields, context: NodeContext): Promise<readonly Fields[]>;
  /** True if records without a row are counted as filtered. */
  readonly filters?: boolean;
  /** True if it emits rows before it is done. */
  readonly streams?: boolean;
  /** The fields that it adds whose values have a type of their own, unlike the cells of a table; undefined for none. */
  readonly typedFields?: readonly string[];
  /** Facts about it for `validate`, such as the category that words were taken for. */
  readonly notes?: readonly string[];
  /** Only for a node that calls. */
  readonly action?: Action;
  /** Only for a node with nodes inside it. */
  readonly inner?: Inner;
}

/** The services of the engine for a node that works on a record. */
export interface NodeContext {
  /** Makes a call, or waits for the batch that the record shares: credit, gate, retries. Throws a Failure or Unfinished. */
  call<Result>(call: Call<Result> | LocalCall<Result> | BatchEntry<Result>): Promise<Result>;
  readonly lookups: Lookups;
  /** Reports an event. The engine completes it in place: give it a new object. */
  report(event: NodeEvent): void;
  /** Passes rows on before the node is done, in their order: only for a node that `streams`. */
  emit(rows: readonly Fields[]): Promise<void>;
  /**
   * Runs the inner nodes once. `pass`: number of earlier passes of the same record. `take` gets the rows, in their order.
   * Answers the last answer of a server; undefined if no server was asked.
   */
  inner(fields: Fields, pass: number, take: (rows: readonly Fields[]) => Promise<void> | void): Promise<LastAnswer | undefined>;
  /** Monotonic ms. */
  now(): number;
  /** Waits without holding a slot. Throws Unfinished when the run ends before. */
  waitUntil(untilMs: number): Promise<void>;
}

/** A call that a node makes for a record. A run, test-request and the dry run all use this one description. */
export interface Action extends CallPolicy {
  /** The request for a record, or Unasked if it needs none. Throws a Failure. */
  prepare(fields: Fields): ActionRequest | Unasked;
  /** The rows of a record from the accepted answer. Throws a Failure. */
  read(fields: Fields, answer: Answer): Reading;
  /** The credentials that its requests need. */
  readonly credentials: readonly CredentialNeed[];
  /** The paths of its map and the fields that they add, in order; empty without a map. */
  readonly paths: readonly string[];
  readonly fields: readonly string[];
  /** True if one record can become several rows. */
  readonly expands: boolean;
  /** Maximum of calls for one record, retries not counted. */
  readonly maxCalls: number;
  /** Calls that every record makes, if they succeed; undefined for one. */
  readonly minCalls?: number;
  /** Maximum of records that share a call; undefined if each has its own. */
  readonly batchSize?: number | undefined;
  /** The entry of a record in a batch; undefined if any records can share a call. */
  readonly entryOf?: (fields: Fields) => BatchEntry<unknown> | Unasked;
  /** True if it sends or saves files. */
  readonly usesFiles?: boolean;
  /** True if `map` reads a document that is made of the answer. */
  readonly makesDocument?: boolean;
  /** Only for a node that looks something up. */
  readonly lookup?: LookupFacts;
  /** Only for a node that asks a language model. */
  readonly tokens?: TokenEstimate;
  /** Only for a node that calls a tool. */
  readonly tool?: CalledTool;
}

/** The rules for every call of a node. */
export interface CallPolicy {
  /** Takes a response as a success, and reads its body. `record`: undefined in a batch. Throws a Failure for any other response. */
  accept(response: ActionResponse, request?: ActionRequest, record?: Fields): Answer;
  readonly limit: CallLimit;
  /** Ms between two calls; undefined for no limit. */
  readonly intervalMs: number | undefined;
  readonly retry: RetryPolicy;
  /** The failures that are retried: statuses, classes of statuses, kinds of failures. */
  readonly retryOn: readonly (string | number)[];
  /** Credits for one call, and the connection it goes over; undefined for none. `isStated`: the flow or the connection names another price than the default. */
  readonly price: { readonly credits: number; readonly isStated: boolean; readonly connection: string | undefined };
  /** Path to the real cost in an answer; undefined if answers do not state it. */
  readonly cost: Path | undefined;
  /** Answers that may come from the cache; undefined if none may. */
  readonly cache?: { readonly maxAgeMs: number; key(request: ActionRequest, record?: Fields): string };
  /** The way HTTP bodies are read; undefined if they are only JSON or text. */
  readonly responseMode?: ResponseMode;
  /** True if the flow says which answers are errors: then a list of errors in a success is meant. */
  readonly judgesAnswers?: boolean;
  /** True if each request gets an Idempotency-Key. */
  readonly hasIdempotencyKey?: boolean;
}

/** The result of `prepare` for a record that needs no request: the record goes on as `row`. */
export class Unasked {
  constructor(readonly row: Fields) {}
}

/** The rows that an answer leads to. */
export interface Reading {
  readonly rows: readonly Fields[];
  /** For each path of the map, true if it was found in the answer. */
  readonly found: readonly boolean[];
}

/** The facts about a lookup that previews and summaries show. */
export interface LookupFacts {
  /** Its name. */
  readonly label: string;
  /** True if data on this machine answer it: no gate, and no time in flight. */
  readonly isLocal: boolean;
  /** The file that holds the data; undefined for embedded data and servers. */
  readonly dataFile?: string | undefined;
  /** The name of the public server that answers it; undefined for any other. */
  readonly publicServer?: string | undefined;
}

/** The place in a node's options where it reads a field. */
export interface FieldUse {
  readonly field: string;
  readonly at: readonly (string | number)[];
  /** True if the name at that place is meant, and not the value. */
  readonly isName?: boolean;
  /** The reference as it is written there; undefined for the field itself, or `{{field}}`. */
  readonly written?: string;
}

/** A credential that a node names, and the place where it does. */
export interface CredentialNeed extends FieldUse, SecretUse {
  /** The connection for which a person logs in; undefined for a secret that someone stores. */
  readonly login?: LoginNeed | undefined;
  /** The place where the secret is issued; undefined if its owner knows. */
  readonly hint?: string;
}

/** The nodes inside a node. */
export interface Inner {
  readonly steps: readonly Step[];
  /** The fields that the node reads from the rows of its inner nodes. */
  readonly reads: readonly FieldUse[];
  /** The fields that a pass takes over from the pass before; undefined if every pass begins with the same fields. */
  readonly carried?: readonly string[];
  /** Maximum of passes of one record. */
  readonly maxPasses: number;
  /** True if a record waits between passes. */
  readonly waits: boolean;
  /** True if the rows of several passes may come out. */
  readonly expands: boolean;
}

/** The way a record that fails at a node goes: into the errors file, on with `_error`, or it ends the run. */
export type OnError = 'reject' | 'keep' | 'stop';

/** A node in its place in the chain. */
export interface Step {
  readonly id: string;
  /** The name of its node type. */
  readonly type: string;
  readonly node: Node;
  /** Records for which it is false skip the node; undefined if all records pass it. */
  readonly when: Expression<boolean> | undefined;
  readonly onError: OnError;
}
