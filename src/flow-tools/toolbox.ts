import { asDouble, ExactNumber, isObject, type JsonObject, type Value } from '../core/value/value.ts';

interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
}

export interface ToolCallContext<Caller> {
  readonly caller: Caller;
  /** The signal that is aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  readonly progress: ((message: string) => void) | undefined;
}

export interface ToolResult {
  readonly isError: boolean;
  readonly text: string;
  /** Matches the tool's output schema; undefined if the call failed. */
  readonly structured?: Record<string, unknown>;
}

export interface Toolbox<Caller> {
  list(caller: Caller): Promise<readonly OfferedTool[]>;
  /** Calls a tool. Throws a WrongCall if the tool is unknown or the arguments are invalid. Any other error is a bug. */
  call(name: string, args: JsonObject, context: ToolCallContext<Caller>): Promise<ToolResult>;
  bug(error: unknown): void;
}

export class WrongCall extends Error {}

/** Converts a value to a form that JSON.stringify accepts. A number that would lose digits as a double becomes a string. */
export function plainOf(value: Value): unknown {
  if (value instanceof ExactNumber) return asDouble(value) ?? value.text;
  if (Array.isArray(value)) return value.map(plainOf);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainOf(member)])) : value;
}
