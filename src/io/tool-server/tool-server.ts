import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../core/value/value.ts';
import { type ToolAnswer, type Toolbox, WrongCall } from './toolbox.ts';

/** The settings of an MCP server. */
export interface ToolServerOptions<Caller> {
  readonly toolbox: Toolbox<Caller>;
  /** The version of automate. */
  readonly version: string;
  /** The sender of a request. */
  callerOf(context: ServerContext): Caller;
  /** Takes a request that its client has cancelled: it gets no answer. */
  cancelled?(context: ServerContext): void;
}

/** Creates an MCP server that offers the tools of a toolbox. It serves one connection, or one request. */
export function createToolServer<Caller>({ toolbox, version, callerOf, cancelled }: ToolServerOptions<Caller>): Server {
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
    const args = (params.arguments ?? {}) as JsonObject;
    const answer = await toolbox
      .call(params.name, args, call)
      .catch(asProtocolError(toolbox))
      .finally(() => signal.removeEventListener('abort', end));
    return resultOfAnswer(answer);
  });
  return server;
}

/** Sends progress notifications for a request; undefined if the client asked for none. */
function progressOf({ mcpReq }: ServerContext): ((message: string) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return (message) => {
    progress++;
    // A client that has gone takes no progress.
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

function resultOfAnswer({ isError, text, structured }: ToolAnswer) {
  return { content: [{ type: 'text' as const, text }], isError, ...(structured && { structuredContent: structured }) };
}

function asProtocolError({ bug }: Pick<Toolbox<never>, 'bug'>): (error: unknown) => never {
  return (error) => {
    if (error instanceof WrongCall) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
    bug(error);
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'this is a bug of automate; its log says more');
  };
}
