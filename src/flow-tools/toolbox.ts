import { ExactNumber, isObject, type JsonObject, type Value } from '../core/value/value.ts';

/** A JSON Schema for an object. */
interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** A tool that an MCP server offers to clients. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
}

/** Details about a call to a tool. */
export interface ToolCallContext<Caller> {
  readonly caller: Caller;
  /** The signal that is aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Notifies the client of progress; undefined if the client does not want to be notified. */
  readonly progress: ((message: string) => void) | undefined;
}

/** The result of a call to a tool. */
export interface ToolResult {
  readonly isError: boolean;
  readonly text: string;
  /** The result as an object that matches the tool's output schema; undefined if the call failed. */
  readonly structured?: Record<string, unknown>;
}

/** The tools that an MCP server offers, and the functions to list and call them. */
export interface Toolbox<Caller> {
  /** Returns the tools that a client may use. */
  list(caller: Caller): Promise<readonly OfferedTool[]>;
  /** Calls a tool. Throws a WrongCall if the tool is unknown or the arguments are invalid. Any other error is a bug. */
  call(name: string, args: JsonObject, context: ToolCallContext<Caller>): Promise<ToolResult>;
  /** Reports an error that can only be a bug of automate. */
  bug(error: unknown): void;
}

/** The error for a call to an unknown tool, or for invalid arguments. */
export class WrongCall extends Error {}

/** Maximum number of significant digits of a number that is converted to a double. No digits are lost up to this number. */
const safeDigits = 15;

/** Converts a value to a form that JSON.stringify accepts. A number that would lose digits as a double becomes a string. */
export function plainOf(value: Value): unknown {
  if (value instanceof ExactNumber) return plainNumber(value);
  if (Array.isArray(value)) return value.map(plainOf);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainOf(member)])) : value;
}

function plainNumber({ text }: ExactNumber): number | string {
  const number = Number(text);
  const [mantissa = ''] = text.split(/[eE]/);
  const digits = mantissa.replace(/\D/g, '').replace(/^0+|0+$/g, '');
  return Number.isFinite(number) && digits.length <= safeDigits ? number : text;
}
