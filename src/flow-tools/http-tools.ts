import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type NodeIncomingMessageLike, type NodeMcpRequestHandler, toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpHandlerRequestOptions,
  type McpHttpHandler,
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../core/value/value.ts';
import { argumentsInParams, createToolServer } from './tool-server.ts';
import type { Toolbox } from './toolbox.ts';

export interface HttpCaller {
  readonly owner: string;
}

interface HttpToolsOptions<Caller extends HttpCaller> {
  readonly toolbox: Toolbox<Caller>;
  readonly version: string;
  /** Monotonic time in ms. */
  now(): number;
}

/** Per API key. If there are more, the session that has been idle longest ends, and its client has to start a new one. */
const maxSessions = 100;

/** A session without requests is ended after this many ms. */
const idleMs = 3_600_000;

/** The MCP session of a client that uses a protocol revision from 2025. Newer revisions have no sessions. */
interface ClientSession {
  readonly owner: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedMs: number;
  /** Number of requests that have not been answered yet. An open stream counts as one. */
  open: number;
}

/** The HTTP request that is being handled. The handlers of MCP messages get it from their context. */
interface Handled<Caller> {
  readonly caller: Caller;
  session?: ClientSession;
  readonly response: ServerResponse;
  /** The request's messages. If there are several, they share one response. */
  readonly messages: readonly unknown[];
}

/** Requests are independent since protocol revision 2026-07-28. Older clients have a session in memory, which belongs to their API key. */
export class ToolsOverHttp<Caller extends HttpCaller> {
  readonly #options: HttpToolsOptions<Caller>;
  readonly #standalone: McpHttpHandler;
  readonly #sessions = new Map<string, ClientSession>();
  readonly #handler: NodeMcpRequestHandler;

  constructor(options: HttpToolsOptions<Caller>) {
    this.#options = options;
    const { bug } = options.toolbox;
    this.#standalone = createMcpHandler(() => this.#createServer(), { legacy: 'reject' });
    const fetch = async (request: Request, more?: McpHandlerRequestOptions) => {
      const answer = await this.#answer(request, more);
      const { response } = handledIn<Caller>(more?.authInfo);
      // The headers are sent immediately, because the client waits for them. The stream itself may have nothing to send for a long time.
      setImmediate(() => response.headersSent && response.flushHeaders());
      return answer;
    };
    this.#handler = toNodeHandler({ fetch }, { onerror: bug });
  }

  /** Resolves once the response has been sent. `body` is the parsed JSON; undefined if the request has no body. */
  async handle(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    const handled: Handled<Caller> = { caller, response, messages: Array.isArray(body) ? body : [body] };
    const auth = { token: '', clientId: caller.owner, scopes: [], extra: { handled } };
    try {
      await this.#handler(Object.assign(request, { auth }) as NodeIncomingMessageLike, response, body);
    } finally {
      if (handled.session) handled.session.open--;
    }
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  toolsChanged(): void {
    this.#standalone.notify.toolsChanged();
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.all([this.#standalone.close(), ...[...this.#sessions.values()].map(({ server }) => server.close())]);
  }

  #createServer(): Server {
    const { toolbox, version } = this.#options;
    return createToolServer({
      ...{ toolbox, version },
      callerOf: (context) => handledIn<Caller>(context.http?.authInfo).caller,
      sentArguments: (context) => argumentsOfRequest(handledIn<Caller>(context.http?.authInfo).messages, context.mcpReq.id),
      cancelled: (context) => {
        const { session, response, messages } = handledIn<Caller>(context.http?.authInfo);
        // The response is ended here, because the SDK leaves the stream of a cancelled request open.
        if (session && messages.length === 1) response.end();
      },
    });
  }

  async #answer(request: Request, options: McpHandlerRequestOptions = {}): Promise<Response> {
    if (!(await isLegacyRequest(request, options.parsedBody))) return this.#standalone.fetch(request, options);
    const handled = handledIn<Caller>(options.authInfo);
    const id = request.headers.get('mcp-session-id');
    if (id === null && !startsSession(options.parsedBody))
      return rpcRefusal(400, -32000, 'expected the header Mcp-Session-Id, or initialize');
    const session = id === null ? await this.#open(handled.caller) : this.#sessions.get(id);
    if (session?.owner !== handled.caller.owner) return rpcRefusal(404, -32001, 'there is no such session: start one with initialize');
    session.usedMs = this.#options.now();
    session.open++;
    handled.session = session;
    return session.transport.handleRequest(request, options);
  }

  async #open({ owner }: Caller): Promise<ClientSession> {
    this.#endUnused(owner);
    const server = this.#createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, session),
    });
    const session: ClientSession = { owner, server, transport, usedMs: this.#options.now(), open: 0 };
    await server.connect(transport);
    server.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
    };
    return session;
  }

  /** Ends sessions that have been idle for an hour. If an API key has no room for a new session, also ends idle sessions of that key. */
  #endUnused(owner: string): void {
    const unused = [...this.#sessions.values()].filter(({ open }) => open === 0).sort((one, other) => one.usedMs - other.usedMs);
    const isOwn = (session: ClientSession) => session.owner === owner;
    const tooMany = [...this.#sessions.values()].filter(isOwn).length - (maxSessions - 1);
    const old = unused.filter(({ usedMs }) => this.#options.now() - usedMs > idleMs);
    for (const session of new Set([...old, ...unused.filter(isOwn).slice(0, Math.max(0, tooMany))])) void session.server.close();
  }
}

function startsSession(body: unknown): boolean {
  return (Array.isArray(body) ? body : [body]).some(isInitializeRequest);
}

function handledIn<Caller>(auth: NonNullable<ServerContext['http']>['authInfo']): Handled<Caller> {
  return auth?.extra?.handled as Handled<Caller>;
}

function argumentsOfRequest(messages: readonly unknown[], id: unknown): JsonObject | undefined {
  const found = messages.find((message) => (message as { readonly id?: unknown } | null)?.id === id);
  return argumentsInParams((found as { readonly params?: unknown } | undefined)?.params);
}

function rpcRefusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
