import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server';
import { ExactNumber, isObject, type JsonObject, type Value } from '../core/value/value.ts';

interface ToolServerOptions<Caller> {
  readonly toolbox: Toolbox<Caller>;
  /** The version of automate that is reported to clients. */
  readonly version: string;
  callerOf(context: ServerContext): Caller;
  /** Returns the arguments of a tool call as the client has sent them. The SDK loses digits of numbers, and the name `__proto__`. */
  sentArguments(context: ServerContext): JsonObject | undefined;
  /** Called when a client cancels a tool call. The call then gets no response. */
  cancelled?(context: ServerContext): void;
}

/** The server is used for one connection or for one HTTP request. */
export function createToolServer<Caller>({ toolbox, version, callerOf, sentArguments, cancelled }: ToolServerOptions<Caller>): Server {
  const server = new Server({ name: 'automate', version }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler('tools/list', async (_, context) => {
    const tools = await toolbox.list(callerOf(context)).catch(asProtocolError(toolbox));
    return { tools: tools as never };
  });
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { signal } = context.mcpReq;
    const gone = context.http?.req?.signal;
    const end = () => cancelled?.(context);
    signal.addEventListener('abort', end, { once: true });
    const call = {
      caller: callerOf(context),
      signal: gone ? AbortSignal.any([signal, gone]) : signal,
      progress: progressOf(context),
    };
    // A call that was cancelled at once is no longer known, so its arguments come from the SDK.
    const args = sentArguments(context) ?? ((params.arguments ?? {}) as JsonObject);
    const answer = await toolbox
      .call(params.name, args, call)
      .catch(asProtocolError(toolbox))
      .finally(() => signal.removeEventListener('abort', end));
    return resultOfAnswer(answer);
  });
  return server;
}

export function argumentsInParams(params: unknown): JsonObject | undefined {
  const found = (params as { readonly arguments?: Value } | null | undefined)?.arguments;
  return isObject(found) ? found : undefined;
}

/** Undefined if the client does not want to be notified. */
function progressOf({ mcpReq }: ServerContext): ((message: string) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return (message) => {
    progress++;
    // The error is ignored, because the client may have disconnected.
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

function resultOfAnswer({ isError, text, structured }: ToolResult) {
  return { content: [{ type: 'text' as const, text }], isError, structuredContent: structured };
}

function asProtocolError({ bug }: Pick<Toolbox<never>, 'bug'>): (error: unknown) => never {
  return (error) => {
    if (error instanceof WrongCall) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
    bug(error);
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'this is a bug in automate; see its log for the details');
  };
}

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
  /** Undefined if the client does not want to be notified. */
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

/** A number with this many significant digits loses none as a double. */
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
