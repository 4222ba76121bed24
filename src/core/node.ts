import type * as z from 'zod';
import type { ActionRequest, ActionResponse, CalledTool, TokenEstimate } from './action.ts';
import type { Answer, Found, MappedField } from './answer/mapping.ts';
import type { Path } from './answer/path.ts';
import type { ResponseMode } from './answer/response.ts';
import type { SecretUse } from './auth/auth-type.ts';
import type { LoginNeed } from './auth/login-need.ts';
import type { BatchEntry, Call, CallLimit, LastAnswer, LocalCall, RetryPolicy } from './call.ts';
import type { ColumnNames } from './column-names.ts';
import type { Expression } from './condition/condition.ts';
import type { EvaluationClock } from './condition/evaluation.ts';
import type { HttpConnection } from './connection.ts';
import type { CodedMessage } from './error-code.ts';
import type { MorePages, NodeEvent } from './event.ts';
import type { Failure } from './failure.ts';
import type { Lookups } from './lookup.ts';
import type { Concurrency } from './options/amounts.ts';
import type { Clock } from './ports.ts';
import type { Fields } from './record.ts';
import type { McpConnection } from './tools.ts';
import type { ValuePath } from './value/value.ts';

/*
 * For authors of node types: everything you need to know about the engine.
 *
 * A node type is one file in src/nodes (or in src/places, if it uses lookups), a line in run/node-types.ts, and a test in
 * test/features. Its options are a zod schema; its help, checks, defaults, JSON Schema and documentation are derived from it.
 * `build` compiles the options of one node, once. Then `run` is called with the `fields` of each record, and returns rows: no rows
 * to drop the record, several to expand it. If it throws a Failure, the record fails and the run continues. A node never changes
 * the fields that it gets, and keeps no state between records, because thousands of them may be in progress.
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
 * A node that sends requests describes its call as an `action`: `prepare` returns the request for a record, `accept` reads the
 * answer, `read` returns the rows. All three are pure functions. `callPolicy` and `callEach` (src/nodes) do the rest: the engine
 * reserves a credit, waits for the gate, sends, retries and caches. test-request and --dry-run use the same action.
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
 *           refuseUnsuccessful(response);
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

/** A node type. Its options are declared once; the checks, help, defaults and JSON Schema are derived from this declaration. */
export interface NodeType<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** One line for the list of node types. */
  readonly summary: string;
  /** An example of the node in YAML. */
  readonly example: string;
  readonly options: z.ZodObject<Shape>;
  /** Undefined if a problem was reported. */
  build(options: z.output<z.ZodObject<Shape>>, context: BuildContext): Node | undefined;
}

export function defineNode<Shape extends z.ZodRawShape>(type: NodeType<Shape>): NodeType {
  return type as unknown as NodeType;
}

/** A node type whose code is loaded only if a flow names it. */
export interface LateNodeType extends Pick<NodeType, 'name'> {
  readonly loaded: NodeType | undefined;
  load(): Promise<NodeType>;
}

/** Reports a problem of an option; `within` is its offset in the option's text. */
export type ReportProblem = (at: ValuePath, message: string | CodedMessage, within?: number) => void;

export interface BuildContext {
  readonly id: string;
  readonly flow: string;
  readonly overrides: LimitOverrides;
  readonly names: ColumnNames;
  /** If the flow has no such connection, reports a problem at the option `connection`. */
  connection(name: string): HttpConnection | undefined;
  /** If the flow has no such connection, reports a problem at the option `connection`. */
  mcpConnection(name: string): McpConnection | undefined;
  readonly allowHttp: boolean;
  /** False if there is no folder for the files that the flow sends or saves, and none can be specified later. */
  readonly takesFiles: boolean;
  /** Private-network hosts to which a URL from a record may lead. */
  readonly allowHosts: readonly string[];
  /** The origins that are written literally in the flow. Credentials are sent only to them. It is complete once the flow is compiled. */
  readonly literalOrigins: Set<string>;
  /** Compiles the nodes in the option `nodes`. Each pass takes the `carried` fields from the previous one. Undefined after a problem. */
  inner(written: readonly unknown[], carried?: readonly string[]): readonly Step[] | undefined;
  /** The fields that the loops around the node carry from pass to pass. */
  readonly carried: readonly string[];
  /** Returns the connection whose answers fill a field for every record; undefined if there is none, or if the input can fill the field. */
  answersOf(field: string): string | undefined;
  /** True if a field comes from a table, in which numbers are text. */
  isCell(field: string): boolean;
  /** True if a record whose fields are all strings can be a row of a table, too. */
  readonly mayBeCells: boolean;
  /** Returns the text of a file; its path is relative to the flow. Undefined if it cannot be read: a problem was reported. */
  fileText(at: ValuePath, path: string): string | undefined;
  /** The result of `read` for a file beside the flow. `key` tells apart what nodes read of it. Throws DataNeeded until it is read. */
  readBeside<Result>(path: string, key: string, read: (file: string) => Promise<Result>): Result;
  /** Rows of this node's file that another process has read. `none` if only such rows may be used, and there are none. */
  readonly sharedRows: SharedRows | 'none' | undefined;
  /** Returns the text with the names of its variables, such as `{{vars.company}}`, and their values as text, keyed by such names. */
  writtenText(at: ValuePath): { readonly text: string; readonly variables: ReadonlyMap<string, string> };
  readonly problem: ReportProblem;
  /** Reports that none of the options is set, at the node or at `place`, unless one of them is invalid, and so was left out. */
  missing(options: readonly string[], message: string, place?: ValuePath): void;
  warn(at: ValuePath, message: string): void;
  /**
   * Warns if a comparison in an expression can never be true for the cells of a table, because cells are text. `nameBefore` returns the
   * name that a field had before the node; undefined if the node renames no fields.
   */
  warnOfCells(at: ValuePath, expression: Expression<unknown>, nameBefore?: (field: string) => string): void;
}

/**
 * Thrown if a node needs its code or data, and they are not in memory. The caller loads it and compiles again, because building is
 * synchronous.
 */
export class DataNeeded extends Error {
  /** `folder` contains the data that is embedded in the program. */
  constructor(readonly load: (folder: string) => Promise<void>) {
    super('a node needs data that is not loaded');
  }
}

/** Limits from the command line, which override the limits of every node and connection. */
export interface LimitOverrides {
  readonly concurrency?: Concurrency;
  /** Minimum time in ms between two calls. */
  readonly intervalMs?: number;
}

export interface Node {
  /** The fields that the node reads. A field that no record can have is reported as a problem of the flow. */
  readonly reads: readonly FieldUse[];
  /** True if the node can read any field. */
  readonly readsAny?: boolean;
  /** Returns the columns of the records after this node, computed from the columns before it. */
  columns(before: readonly string[]): string[];
  /** Returns the rows for a record: no rows to drop the record, several rows to expand it. Throws a Failure if the record fails. */
  run(fields: Fields, context: NodeContext): Promise<readonly Fields[]>;
  /** Returns the rows as `run` does, but without waiting. Only for nodes that make no call; a joined file must be open. */
  readonly rowsAtOnce?: (fields: Fields, clock: EvaluationClock) => readonly Fields[];
  /** The names of the rules that the node checks, in their order. */
  readonly rules?: readonly string[];
  /** Set only for a node that looks records up in a file beside the flow. */
  readonly joined?: JoinedFile;
  /** True if a record for which the node returns no rows counts as filtered. */
  readonly filters?: boolean;
  /** True if the node emits rows before it has finished. */
  readonly streams?: boolean;
  /** The fields that the node adds with typed values, such as numbers. The cells of a table, in contrast, are text. */
  readonly typedFields?: readonly string[];
  /** The fields whose values depend on the time, because they are computed with `now()`. */
  readonly timedFields?: readonly string[];
  /** The fields that the node's map fills, except those with `replace: true`. The flow warns if one replaces a column of the input. */
  readonly mapped?: readonly MappedField[];
  /** A field that an option of the node names, and the node fills. The flow warns if it replaces a column of the input. */
  readonly named?: { readonly field: string; readonly option: string };
  /** The fields that the node fills from answers of a connection's server. */
  readonly answered?: { readonly connection: string; readonly fields: readonly string[] };
  /** The fields that the node renames, as a map of old names to new ones. */
  readonly renames?: ReadonlyMap<string, string>;
  /** Information about the node that `validate` prints, such as the category that words were matched with. */
  readonly notes?: readonly string[];
  /** Set only for a node that makes calls. */
  readonly action?: Action;
  /** Set only for a node that contains other nodes. */
  readonly inner?: Inner;
}

/** A file beside the flow in which a node looks records up. */
export interface JoinedFile {
  /** The path as it is written in the flow. */
  readonly name: string;
  readonly path: string;
  /** The record's fields that are looked up. */
  readonly keys: readonly string[];
  /** The fields that the file fills. */
  readonly fields: readonly string[];
  /**
   * Reads the rows, which then stay until `close` has been called as often. `shared`: other processes will read them, too. Throws an
   * AutomateError (`input`) if the file cannot be read.
   */
  open(options: { readonly shared: boolean }): Promise<void>;
  close(): void;
  /** The place in which other processes find the rows; undefined unless they were opened for them. */
  shared(): SharedRows | undefined;
}

/** Rows of a joined file, in a database on this machine. */
export interface SharedRows {
  readonly database: string;
}

export interface NodeContext {
  /**
   * Makes a call, which costs credits, waits for the rate limit, and is retried. A record in a batch waits for the call that the batch
   * shares. Throws a Failure if the call fails, or Unfinished if the run ends first.
   */
  call<Result>(call: Call<Result> | LocalCall<Result> | BatchEntry<Result>): Promise<Result>;
  readonly lookups: Lookups;
  /** Reports an event. Pass a new object, because the engine adds members to it. */
  report(event: NodeEvent): void;
  /**
   * Calls `find` for each record until it returns an event. Reports this event, the only one of its node in a run. `what` tells apart the
   * events of a node that reports several things once.
   */
  reportOnce(find: () => NodeEvent | undefined, what?: string): void;
  /** Emits rows in order, before the node has finished. Only for a node that has `streams` set. */
  emit(rows: readonly Fields[]): Promise<void>;
  /** Runs the inner nodes once. `pass` counts earlier passes. `take` receives the rows, in order. Undefined if no request was sent. */
  inner(fields: Fields, pass: number, take: (rows: readonly Fields[]) => Promise<void> | void): Promise<LastAnswer | undefined>;
  /**
   * Runs one inner node alone, whatever its `on_error`. `accepts` is called with its rows, and says if the record goes on with them.
   * Undefined if the node's condition passes the record over. Throws a Failure only if it concerns more than this node.
   */
  ask(step: Step, fields: Fields, accepts: (rows: readonly Fields[]) => boolean): Promise<Asked | undefined>;
  /** The clock of the run. Expressions are evaluated with it. */
  readonly clock: EvaluationClock & Pick<Clock, 'now'>;
  /** Waits until `untilMs` without occupying a slot (the right to have one call in flight). Throws Unfinished if the run ends first. */
  waitUntil(untilMs: number): Promise<void>;
}

/** The result of an inner node that ran alone. */
export interface Asked {
  /** Empty if the node failed. */
  readonly rows: readonly Fields[];
  readonly isAccepted: boolean;
  readonly failure: Failure | undefined;
  readonly credits: number;
  /** In the unit of the node's price; undefined if it has no price. */
  readonly cost: number | undefined;
}

/** The call that a node makes for a record. Runs, test-request and the dry run all use this description. */
export interface Action extends CallPolicy {
  /** Returns the request for a record, or Unasked if the record needs none. Throws a Failure if the request cannot be prepared. */
  prepare(fields: Fields, clock: EvaluationClock): ActionRequest | Unasked;
  /** Reads the accepted response. Throws a Failure if it does not fit. */
  read(fields: Fields, answer: Answer): RowsRead;
  /** Looks for a sign that an answer is only the first page of a list. Undefined if all pages are read, or only the first one is meant. */
  readonly morePages?: (answer: Answer, request: ActionRequest) => MorePages | undefined;
  readonly credentials: readonly CredentialNeed[];
  /** The paths of the node's map, and the names of the fields that they add, in the same order. Empty without a map. */
  readonly paths: readonly string[];
  readonly fields: readonly string[];
  readonly expands: boolean;
  /** Maximum number of calls for one record, not counting retries. */
  readonly maxCalls: number;
  /** Minimum number of successful calls for one record; undefined for one call. */
  readonly minCalls?: number;
  /** Undefined if each record has a separate call. */
  readonly batchSize?: number;
  /** The entry says with which records this one can share a call. Undefined if any records can share a call. */
  readonly entryOf?: (fields: Fields, clock: EvaluationClock) => BatchEntry<unknown> | Unasked;
  readonly usesFiles?: boolean;
  /** The part of its request or answer that no kept answer can replace; undefined if there is none. */
  readonly unkept?: 'save' | 'now()';
  /** True if `map` does not read the response itself, but a document that is derived from it. */
  readonly makesDocument?: boolean;
  /** Set only for a node that looks something up. */
  readonly lookup?: LookupFacts;
  /** Set only for a node that asks a language model. */
  readonly tokens?: TokenEstimate;
  /** Set only for a node that calls a tool. */
  readonly tool?: CalledTool;
  /** The method and the URL as they are written, with references to fields. Undefined for a node whose flow does not say them. */
  readonly written?: { readonly method: string; readonly url: string };
}

export interface CallPolicy {
  /** `record` is undefined in a batch. Throws a Failure if the response is not successful. */
  accept(response: ActionResponse, request: ActionRequest, record: Fields | undefined, clock: EvaluationClock): Answer;
  readonly limit: CallLimit;
  /** Minimum time in ms between two calls. */
  readonly intervalMs: number | undefined;
  readonly retry: RetryPolicy;
  /** `isStated` is true if the flow or the connection sets a price other than the default. */
  readonly price: { readonly credits: number; readonly isStated: boolean; readonly connection: string | undefined };
  readonly cost: Path | undefined;
  /** Undefined if responses are not cached. */
  readonly cache?: { readonly maxAgeMs: number; key(request: ActionRequest, record?: Fields): string };
  /** Undefined if bodies can only be JSON or text. */
  readonly responseMode?: ResponseMode;
  /** The charset of bodies that do not state one; undefined for UTF-8. */
  readonly charset?: string;
  /** True if the flow itself says which responses are errors. No warning is then needed for a list of errors in a successful response. */
  readonly judgesAnswers?: boolean;
  readonly hasIdempotencyKey?: boolean;
  /** False for a node whose requests are always sent, because the flow says `keep_answers: false`. */
  readonly keepsAnswers?: boolean;
  /** True if the map reads facts of the answer, such as `$url`. */
  readonly readsFacts?: boolean;
}

/** The result of `prepare` for a record that needs no request. The record continues as `row`. */
export class Unasked {
  constructor(readonly row: Fields) {}
}

export interface RowsRead {
  readonly rows: readonly Fields[];
  /** For each path of the map. */
  readonly found: readonly Found[];
}

interface LookupFacts {
  readonly label: string;
  /** True if the lookup is answered from local data, without a request. */
  readonly isLocal: boolean;
  /** Undefined for embedded data and for servers. */
  readonly dataFile?: string;
  readonly publicServer?: string;
}

/** A field that a node reads, and the path of the option that refers to this field. */
export interface FieldUse {
  readonly field: string;
  readonly at: ValuePath;
  /** True if the field is written as the member name at that path, false if it is written in the value. */
  readonly isName?: boolean;
  /** The reference as it is written at that path. Undefined if the option is just the field's name, or refers to it as `{{field}}`. */
  readonly written?: string;
  /** True if an expression only tests with `has()` for the field. Records need not have it then, but no record can be a mistake. */
  readonly isTested?: boolean;
  /** True if the reference is a member of `record`, which is a member of the field `record` in records that have such a field. */
  readonly isOfRecord?: boolean;
}

export interface CredentialNeed extends FieldUse, SecretUse {
  /** Undefined for a secret that is not obtained by a login. */
  readonly login?: LoginNeed;
  /** Says where the secret can be obtained. */
  readonly hint?: string;
}

export interface Inner {
  readonly steps: readonly Step[];
  /** The fields that the node reads from the rows of its inner nodes. */
  readonly reads: readonly FieldUse[];
  /** The fields that each pass takes over from the previous one; undefined if every pass begins with the same fields. */
  readonly carried?: readonly string[];
  /** Maximum number of passes (repetitions of the inner nodes) for one record. */
  readonly maxPasses: number;
  /** True if a record waits between passes. */
  readonly waits: boolean;
  /** True if the inner nodes are asked one after the other, each with the record as it came in, until one of them succeeds. */
  readonly areAlternatives?: boolean;
  /** True if the rows of several passes can be emitted. */
  readonly expands: boolean;
}

/** The option `on_error`. It says whether a failed record goes to the errors file, continues with the field `_error`, or ends the run. */
export type OnError = 'reject' | 'keep' | 'stop';

/** A node at its position in the flow. */
export interface Step {
  readonly id: string;
  readonly type: string;
  readonly node: Node;
  /** Records for which the condition is false skip the node. */
  readonly when: Expression<boolean> | undefined;
  readonly onError: OnError;
}
