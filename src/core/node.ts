import type * as z from 'zod';
import type { Action, FieldUse } from './action.ts';
import type { BatchEntry } from './batch.ts';
import type { Call, LastAnswer } from './call.ts';
import type { Expression } from './condition/condition.ts';
import type { HttpConnection } from './connection.ts';
import type { CodedMessage } from './error-code.ts';
import type { NodeEvent } from './event.ts';
import type { CategoryNames } from './lookups/category.ts';
import type { Lookups } from './lookups/lookup.ts';
import type { Fields } from './record.ts';
import type { McpConnection } from './tools/tools.ts';

/** The services of the engine for a node that works on a record. */
export interface NodeContext {
  /** Makes a call, or waits for the batch that the record shares: credit, gate, retries. Throws a Failure or Unfinished. */
  call<Result>(call: Call<Result> | BatchEntry<Result>): Promise<Result>;
  readonly lookups: Lookups;
  /** Reports an event. It is completed in place: give it a new object. */
  report(event: NodeEvent): void;
  /** Passes output records on before the node is done, in their order: only a node that `streams`. */
  emit(rows: readonly Fields[]): Promise<void>;
  /**
   * Runs the inner nodes once. `pass`: number of earlier passes of the same record. `take` gets the output records, in their order.
   * Answers the last answer of a server; absent without one.
   */
  inner(fields: Fields, pass: number, take: (rows: readonly Fields[]) => Promise<void> | void): Promise<LastAnswer | undefined>;
  /** Monotonic ms. */
  now(): number;
  /** Waits without holding a slot. Throws Unfinished when the run ends before. */
  waitUntil(untilMs: number): Promise<void>;
}

/** A node as it will run. */
export interface Node {
  readonly reads: readonly FieldUse[];
  /** The columns after this node, from those before it. */
  columns(before: readonly string[]): string[];
  /** Answers a record's output records: none drops it, several expand it. Throws a Failure: this record failed. */
  run(fields: Fields, context: NodeContext): Promise<readonly Fields[]>;
  /** True if it emits output records before it is done. */
  readonly streams?: boolean;
  /** The fields it adds whose values have a type of their own, unlike the cells of a table; absent for none. */
  readonly typedFields?: readonly string[];
  /** Facts about it for `validate`, such as the category that words were taken for; absent for none. */
  readonly notes?: readonly string[];
  /** Only of a node that calls. */
  readonly action?: Action;
  /** Only of a node with nodes inside it. */
  readonly inner?: Inner;
}

/** The nodes inside a node. */
export interface Inner {
  readonly steps: readonly Step[];
  /** The fields that are read of the records that come out of them. */
  readonly reads: readonly FieldUse[];
  /** The fields that a pass takes over from the one before; absent if every pass begins with the same fields. */
  readonly carried?: readonly string[];
  /** Maximum of passes of one record. */
  readonly maxPasses: number;
  /** True if a record waits between passes. */
  readonly waits: boolean;
  /** True if the records of several passes may come out. */
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
  /** Records for which it is false skip the node; absent if none do. */
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

/** The services of the compiler for a node type that turns options into a node. */
export interface BuildContext {
  readonly id: string;
  readonly overrides: LimitOverrides;
  /** The connection of that name. Absent if the flow has none: then the problem is reported at `connection`. */
  connection(name: string): HttpConnection | undefined;
  /** The same for a connection to an MCP server. */
  mcpConnection(name: string): McpConnection | undefined;
  readonly allowHttp: boolean;
  /** Hosts inside the network that a record may name. */
  readonly allowHosts: readonly string[];
  /** The origins that the flow names literally: only these get credentials. Complete once the flow is compiled. */
  readonly literalOrigins: Set<string>;
  /** Compiles the inner nodes, written at `nodes`. `carried`: as in `Inner`. Absent if a problem was reported. */
  inner(written: readonly unknown[], carried?: readonly string[]): readonly Step[] | undefined;
  /** Finds the category that words in the flow name. Absent for a flow that names none. */
  readonly categories: CategoryNames | undefined;
  /** True if a field comes from a table, where a number is written as a text. */
  isCell(field: string): boolean;
  /** Reports a problem with the option at that place. `within`: 0-based, in the option's text. */
  problem(at: readonly (string | number)[], message: string | CodedMessage, within?: number): void;
  /** Warns of something that is likely not meant. */
  warn(at: readonly (string | number)[], message: string): void;
  /** Warns of an expression that can never be true of a table's cells. `nameBefore`: the name of a field before the node; absent if the node renames none. */
  warnOfCells(at: readonly (string | number)[], expression: Expression<unknown>, nameBefore?: (field: string) => string): void;
}

/** A kind of node: its options declared once, for checks, help, defaults and JSON Schema. */
export interface NodeType<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** An example in YAML. */
  readonly example: string;
  readonly options: z.ZodObject<Shape>;
  /** Builds a node; absent if a problem was reported. */
  build(options: z.output<z.ZodObject<Shape>>, context: BuildContext): Node | undefined;
}

/** Declares a node type. */
export function defineNode<Shape extends z.ZodRawShape>(type: NodeType<Shape>): NodeType {
  return type as unknown as NodeType;
}
