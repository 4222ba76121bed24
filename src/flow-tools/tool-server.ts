import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server';
import { isObject, type JsonObject, type Value } from '../core/value/value.ts';
import { type Toolbox, type ToolResult, WrongCall } from './toolbox.ts';

interface ToolServerOptions<Caller> {
  readonly toolbox: Toolbox<Caller>;
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
