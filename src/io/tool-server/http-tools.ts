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
import { createToolServer } from './tool-server.ts';
import type { Toolbox } from './toolbox.ts';

/** The sender of a request. */
export interface HttpCaller {
  /** The id of its key. */
  readonly owner: string;
}

/** The settings of an endpoint. */
export interface HttpToolsOptions<Caller extends HttpCaller> {
  readonly toolbox: Toolbox<Caller>;
  readonly version: string;
  /** Monotonic ms. */
  now(): number;
}

/** Maximum of sessions of one key. One more ends the session that was unused for the longest time; its client begins another. */
const maxSessions = 100;

/** A session without a request for this time ends. */
const idleMs = 3_600_000;

/** A session of a client that speaks a protocol revision of 2025. */
interface Session {
  readonly owner: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedMs: number;
  /** Requests that are not answered yet, open streams included. */
  open: number;
}

/** The request that is handled, as handlers find it in their context. */
interface Handled<Caller> {
  readonly caller: Caller;
  session?: Session;
  readonly response: ServerResponse;
  /** True if several requests share the answer. */
  readonly isBatch: boolean;
}

/**
 * MCP over Streamable HTTP. Clients of the revision 2026-07-28 send requests that stand alone; older clients open a session first. Sessions
 * are in memory, and belong to the key that opened them.
 */
export class HttpTools<Caller extends HttpCaller> {
  readonly #options: HttpToolsOptions<Caller>;
  readonly #standalone: McpHttpHandler;
  readonly #sessions = new Map<string, Session>();
  readonly #handler: NodeMcpRequestHandler;

  constructor(options: HttpToolsOptions<Caller>) {
    this.#options = options;
    const { bug } = options.toolbox;
    this.#standalone = createMcpHandler(() => this.#createServer(), { legacy: 'reject' });
    const fetch = async (request: Request, more?: McpHandlerRequestOptions) => {
      const answer = await this.#answer(request, more);
      const { response } = handledIn<Caller>(more?.authInfo);
      // A stream may have nothing to send for long: its client waits for the headers.
      setImmediate(() => response.headersSent && response.flushHeaders());
      return answer;
    };
    this.#handler = toNodeHandler({ fetch }, { onerror: bug });
  }

  /** Answers a request. `body`: parsed JSON; undefined for a request without a body. Resolves once the answer is sent. */
  async handle(request: IncomingMessage, response: ServerResponse, body: unknown, caller: Caller): Promise<void> {
    const handled: Handled<Caller> = { caller, response, isBatch: Array.isArray(body) };
    const auth = { token: '', clientId: caller.owner, scopes: [], extra: { handled } };
    try {
      await this.#handler(Object.assign(request, { auth }) as NodeIncomingMessageLike, response, body);
    } finally {
      if (handled.session) handled.session.open--;
    }
  }

  /** The number of sessions. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** Tells all clients that the tools are others now. */
  toolsChanged(): void {
    this.#standalone.notify.toolsChanged();
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(() => undefined);
  }

  /** Ends all sessions and streams. */
  async close(): Promise<void> {
    await Promise.all([this.#standalone.close(), ...[...this.#sessions.values()].map(({ server }) => server.close())]);
  }

  #createServer(): Server {
    const { toolbox, version } = this.#options;
    return createToolServer({
      ...{ toolbox, version },
      callerOf: (context) => handledIn<Caller>(context.http?.authInfo).caller,
      cancelled: (context) => {
        const { session, response, isBatch } = handledIn<Caller>(context.http?.authInfo);
        // The SDK would leave the stream open.
        if (session && !isBatch) response.end();
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
    if (session?.owner !== handled.caller.owner) return rpcRefusal(404, -32001, 'there is no such session: begin another with initialize');
    session.usedMs = this.#options.now();
    session.open++;
    handled.session = session;
    return session.transport.handleRequest(request, options);
  }

  async #open({ owner }: Caller): Promise<Session> {
    this.#endUnused(owner);
    const server = this.#createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, session),
    });
    const session: Session = { owner, server, transport, usedMs: this.#options.now(), open: 0 };
    await server.connect(transport);
    server.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
    };
    return session;
  }

  /** Ends sessions without a request for an hour, and makes room for another one of the same key. */
  #endUnused(owner: string): void {
    const unused = [...this.#sessions.values()].filter(({ open }) => open === 0).sort((one, other) => one.usedMs - other.usedMs);
    const isOwn = (session: Session) => session.owner === owner;
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

function rpcRefusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
