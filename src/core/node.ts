import type * as z from 'zod';
import type { SecretUse } from './auth/auth-type.ts';
import type { Batch, Sharing } from './batch.ts';
import type { Call, LastAnswer } from './call.ts';
import type { Expression } from './condition/condition.ts';
import type { HttpConnection } from './connection.ts';
import type { ShortPage } from './event.ts';
import type { Failure } from './failure.ts';
import type { Http, HttpRequest, HttpResponse } from './ports.ts';
import type { Fields } from './record.ts';
import type { McpConnection, Tool, ToolAnswer, ToolCall, ToolProgress, Tools } from './tools/tools.ts';
import type { Value } from './value/value.ts';

/** What a node may use while it works on a record. */
export interface NodeContext {
  readonly http: Http;
  readonly tools: Tools;
  /** Runs an action: credit, gate, retries. */
  call<Result>(call: Call<Result>): Promise<Result>;
  /** Answers from disk, or produces and keeps. */
  cached(key: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse>;
  /** Tells which of the map's paths led anywhere. */
  mapped(paths: readonly string[], found: readonly boolean[]): void;
  /** Tells of a page with too few items. */
  fellShort(page: ShortPage): void;
  /** Tells how far a tool is. */
  progressed(tool: string, progress: ToolProgress): void;
  /** Waits until as many records as can share a call are there, or no more can come; answers what came of this one. */
  gather<Entry, Result>(entry: Entry, batch: Batch<Entry, Result>): Promise<Result>;
  /** A UUID that is the same whenever this record passes this node in this run. `part`: which of several calls for it; absent for the one. */
  idempotencyKey(part?: string): string;
  /** Hands on output records before the node is done, in their order: only a node that `streams`. */
  emit(rows: readonly Fields[]): Promise<void>;
  /**
   * Brings a record through the node's inner nodes. `pass`: how often that was done before, for the same record. `take` gets what comes
   * out of them, in its order. Answers what was heard of servers meanwhile; absent for nothing.
   */
  inner(fields: Fields, pass: number, take: (rows: readonly Fields[]) => Promise<void> | void): Promise<LastAnswer | undefined>;
  /** Whether nothing more is wanted of it: another record that the same one has become has failed. */
  isLost(): boolean;
  /** Monotonic ms. */
  now(): number;
  /** Waits, and holds nothing meanwhile. Throws Unfinished when the run ends before. */
  waitUntil(untilMs: number): Promise<void>;
}

/** Where in its options a node reads a field. */
export interface FieldUse {
  readonly field: string;
  readonly at: readonly (string | number)[];
  /** Whether the name there is meant, and not the value. */
  readonly isName?: boolean;
}

/** A credential that a node names, and where. */
export interface CredentialNeed extends FieldUse, SecretUse {
  /** How to get one, where that is not how secrets are usually kept; absent where it is. */
  readonly wayOut?: string;
}

/** A node as it will run. */
export interface Node {
  readonly reads: readonly FieldUse[];
  /** The columns after this node, from those before it. */
  columns(before: readonly string[]): string[];
  /** A record's output records: none drops it, several expand it. Throws a Failure: this record failed. */
  run(fields: Fields, context: NodeContext): Promise<readonly Fields[]>;
  /** Whether it hands on output records before it is done. */
  readonly streams?: boolean;
  /** The fields it adds whose texts are texts, and no cells of a table that may stand for a number; absent for none. */
  readonly typedFields?: readonly string[];
  /** Only of a node that acts through a port. */
  readonly action?: Action;
  /** Only of a node with nodes inside it. */
  readonly inner?: Inner;
}

/** The nodes inside a node. */
export interface Inner {
  readonly steps: readonly Step[];
  /** The fields that are read behind them. */
  readonly reads: readonly FieldUse[];
  /** The fields of those behind them that the next pass begins with; absent where every pass begins alike. */
  readonly carried?: readonly string[];
  /** How often a record passes them at most. */
  readonly mostPasses: number;
  /** Whether a record waits between passes. */
  readonly waits: boolean;
  /** Whether the records of several passes may come out. */
  readonly expands: boolean;
}

/** What a node sends for a record. */
export type ActionRequest = HttpRequest | ToolCall;

/** What came back for it. */
export type ActionResponse = HttpResponse | ToolAnswer;

/** What the engine and the previews need to know of a node that calls the outside. */
export type Action = HttpAction | ToolAction;

/** A node that sends HTTP requests. */
export interface HttpAction extends ActionOf<HttpRequest, HttpResponse> {
  readonly kind?: undefined;
}

/** A node that calls a tool. */
export interface ToolAction extends ActionOf<ToolCall, ToolAnswer> {
  readonly kind: 'tool';
  readonly connection: McpConnection;
  /** What is wrong with the node, seen from the tools that the server has, and where. `isTable`: whether the records are known to be rows of a table. */
  check(tools: readonly Tool[], isTable: boolean): readonly ToolProblem[];
}

/** Something wrong with a node that calls a tool. */
export interface ToolProblem {
  readonly at: readonly (string | number)[];
  /** Whether the name there is meant, and not the value. */
  readonly isName?: boolean;
  readonly message: string;
}

/** What is the same for every kind of action. */
export interface ActionOf<Request, Response> {
  /** Calls in flight at once. */
  readonly concurrency: number;
  /** Ms between two calls; absent for no limit. */
  readonly intervalMs: number | undefined;
  /** Credits for one action, and the connection it goes over; absent for none. */
  readonly price: { readonly credits: number; readonly connection: string | undefined };
  readonly credentials: readonly CredentialNeed[];
  /** The request for a record, as it will be sent. */
  request(fields: Fields): Request;
  /** The answer's body as the map sees it. Throws a Failure. */
  body(response: Response): Value | undefined;
  /** Whether one record can become several. */
  readonly expands: boolean;
  /** How many records share a call at most; absent where each has its own. */
  readonly batchSize: number | undefined;
  /** Who can share a call; absent where all can. */
  readonly sharing?: Sharing;
  /** What becomes of a record for which nothing is asked; absent for one for which something is. */
  unasked?(fields: Fields): Fields | undefined;
  /** How many calls one record can take at most, retries not counted. */
  readonly mostCalls: number;
  /** Whether an answer may come from the cache. */
  readonly isCached: boolean;
  /** The map's paths and the fields they add, in order; none without a map. */
  readonly paths: readonly string[];
  readonly fields: readonly string[];
  /** Why an answer counts as no success; absent when it does. */
  refusal(response: Response): Failure | undefined;
  /** What an answer says that the action really cost; absent when it does not. */
  cost(response: Response): number | undefined;
  /** The record's output records; `found` gets, per path, whether it led anywhere. Throws a Failure. */
  rows(fields: Fields, response: Response, found: boolean[]): readonly Fields[];
}

/** What becomes of a record that fails at a node. */
export type OnError = 'reject' | 'keep' | 'stop';

/** A node in its place in the chain. */
export interface Step {
  readonly id: string;
  readonly type: string;
  readonly node: Node;
  /** Records for which it is false pass the node untouched; absent for all records. */
  readonly when: Expression<boolean> | undefined;
  readonly onError: OnError;
}

/** Limits given on the command line: they replace those of every node and connection. */
export interface LimitOverrides {
  /** Maximum number of calls in flight. */
  readonly concurrency?: number | undefined;
  /** Ms between two calls. */
  readonly intervalMs?: number | undefined;
}

/** What a node type may use while it turns options into a node. */
export interface BuildContext {
  readonly id: string;
  readonly overrides: LimitOverrides;
  /** The connection of that name. Absent, with the problem reported at `connection`, when the flow has none. */
  connection(name: string): HttpConnection | undefined;
  /** The same for a connection to an MCP server. */
  mcpConnection(name: string): McpConnection | undefined;
  readonly allowHttp: boolean;
  /** Hosts inside the network that a record may name. */
  readonly allowHosts: readonly string[];
  /** The origins that the flow names literally: only these get credentials. Complete once the flow is compiled. */
  readonly literalOrigins: Set<string>;
  /** Compiles the nodes inside this one, which stand at `nodes`. `carried`: as in `Inner`. Absent when a problem was reported. */
  inner(written: readonly unknown[], carried?: readonly string[]): readonly Step[] | undefined;
  /** Whether a field comes from a table, where a number is written as a text. */
  isCell(field: string): boolean;
  /** Something wrong with the option at that place. */
  problem(at: readonly (string | number)[], message: string): void;
  /** Something that is likely not meant. */
  warn(at: readonly (string | number)[], message: string): void;
  /** The same for an expression that can never be true of a table's cells. `nameBefore`: absent where the fields are called as before the node. */
  warnOfCells(at: readonly (string | number)[], expression: Expression<unknown>, nameBefore?: (field: string) => string): void;
}

/** A kind of node: its options declared once, for checks, help, defaults and JSON Schema. */
export interface NodeType<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** A node in YAML. */
  readonly example: string;
  readonly options: z.ZodObject<Shape>;
  /** Absent when a problem was reported. */
  build(options: z.output<z.ZodObject<Shape>>, context: BuildContext): Node | undefined;
}

/** Declares a node type. */
export function defineNode<Shape extends z.ZodRawShape>(type: NodeType<Shape>): NodeType {
  return type as unknown as NodeType;
}
