import type { JsonObject } from '../../core/value/value.ts';

/** A JSON Schema of an object. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** A tool that is offered to MCP clients. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
}

/** The surroundings of a tool's call. */
export interface ToolCallContext<Caller> {
  readonly caller: Caller;
  /** Aborted when the client cancels the call, or has gone. */
  readonly signal: AbortSignal;
  /** Tells the client what happens. Undefined if it did not ask for that. */
  readonly progress: ((message: string) => void) | undefined;
}

/** The result of a tool's call. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  /** The result as data, in the shape of the tool's output schema; undefined for an error. */
  readonly structured?: Record<string, unknown>;
}

/** The tools of an MCP server. */
export interface Toolbox<Caller> {
  /** The tools that a caller may use. */
  list(caller: Caller): Promise<readonly OfferedTool[]>;
  /** Calls a tool. Throws a WrongCall; any other error is a bug. */
  call(name: string, args: JsonObject, context: ToolCallContext<Caller>): Promise<ToolAnswer>;
  /** Takes an error that is a bug. */
  bug(error: unknown): void;
}

/** A call of an unknown tool, or one whose arguments are wrong. */
export class WrongCall extends Error {}
