import { type ClientOptions, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import type { McpConnection, Tool, ToolAnswer, ToolCall, ToolProgress, ToolServer } from '../../core/tools/tools.ts';
import { toAnswer } from './answer.ts';
import { type Connected, connect } from './connect.ts';
import { type ErrorContext, toFailure } from './failure.ts';
import { type SessionContext, withinStart } from './open-client.ts';
import { ToolList } from './tool-list.ts';

/** Quiet time after a change of the tools before they are listed again. */
const settleMs = 300;

/** Longest wait for a server to confirm the end of a session. */
const farewellMs = 1000;

/** Opens a session: agrees on the protocol and lists the tools. Throws a Failure. */
export async function openSession(connection: McpConnection, context: SessionContext): Promise<Session> {
  const tools = new ToolList(connection.name);
  const connected = await connect({ connection, context, clientOptions: clientOptions(connection, context, tools) });
  const session = new Session(connection, context, connected, tools);
  await session.start();
  return session;
}

/** The client claims neither a model nor a person to ask, so a server that asks anyway is refused. */
function clientOptions({ name }: McpConnection, context: SessionContext, tools: ToolList): ClientOptions {
  const onChanged = (error: Error | null, found: readonly unknown[] | null) => {
    if (error || !found) return;
    tools.replace(found as Tool[]);
    context.report({ type: 'server-tools', connection: name, tools: found.length });
  };
  return {
    capabilities: context.elicit ? { elicitation: { form: { applyDefaults: true } } } : {},
    enforceStrictCapabilities: true,
    listMaxPages: 1000,
    listChanged: { tools: { autoRefresh: true, debounceMs: settleMs, onChanged } },
  };
}

/** A client and its server, until the connection is lost. */
export class Session {
  readonly #connection: McpConnection;
  readonly #context: SessionContext;
  readonly #connected: Connected;
  readonly #tools: ToolList;
  #lost: Failure | undefined;
  #isClosing = false;

  constructor(connection: McpConnection, context: SessionContext, connected: Connected, tools: ToolList) {
    this.#connection = connection;
    this.#context = context;
    this.#connected = connected;
    this.#tools = tools;
    connected.client.onclose = () => this.#closed();
  }

  /** Lists the tools. Throws a Failure. */
  async start(): Promise<void> {
    try {
      await this.#listTools();
    } catch (error) {
      // Explained before the session is closed: the end that follows is not the reason.
      const errorContext = this.#errorContext(false);
      await this.close();
      throw toFailure(error, errorContext);
    }
    const { name, version, protocol, tools } = this.server;
    const server = `${name} ${version}`.trim();
    this.#context.report({ type: 'server-started', connection: this.#connection.name, server, protocol, tools: tools.length });
  }

  /** The server as it describes itself. */
  get server(): ToolServer {
    const { client, kind } = this.#connected;
    const { name = this.#connection.name, version = '' } = client.getServerVersion() ?? {};
    return { name, version, protocol: client.getNegotiatedProtocolVersion() ?? '', transport: kind, tools: this.#tools.tidied() };
  }

  /** The reason why the server gives no answers any more; absent while it does. */
  get lost(): Failure | undefined {
    return this.#lost;
  }

  /** Calls a tool. Throws a Failure. */
  async call({ tool, arguments: values, timeoutMs }: ToolCall, onprogress: (progress: ToolProgress) => void): Promise<ToolAnswer> {
    const { client, withLogin } = this.#connected;
    const args = this.#tools.checkArguments(tool, values);
    const options = { timeout: timeoutMs, signal: this.#context.signal, onprogress };
    try {
      return toAnswer(await withLogin(() => client.callTool({ name: tool, arguments: args }, options)));
    } catch (error) {
      if (!this.#isForgotten(error)) throw toFailure(error, { ...this.#errorContext(true), timeoutMs });
      const message = `the MCP server "${this.#connection.name}" has forgotten the session`;
      this.#lost ??= new Failure('network', message, { retryable: true, sent: false });
      throw this.#lost.withMessage(this.#lost.message);
    }
  }

  /** Ends the session, and the server if it was started here. */
  async close(): Promise<void> {
    const { client, transport } = this.#connected;
    this.#isClosing = true;
    if (transport instanceof StreamableHTTPClientTransport) {
      const farewell = transport.terminateSession().catch(() => undefined);
      await Promise.race([farewell, new Promise((resolve) => setTimeout(resolve, farewellMs).unref())]);
    }
    await client.close().catch(() => undefined);
  }

  async #listTools(): Promise<void> {
    const { client, withLogin } = this.#connected;
    if (!client.getServerCapabilities()?.tools) return;
    const options = { timeout: this.#connection.startTimeoutMs, signal: this.#context.signal };
    // One timeout for all pages: the list may be endless.
    const { tools } = await withLogin(() => withinStart(client.listTools(undefined, options), this.#connection));
    this.#tools.replace(tools as Tool[]);
  }

  #closed(): void {
    this.#lost ??= toFailure(new Error('the connection was closed'), this.#errorContext(true));
    if (this.#isClosing) return;
    this.#context.report({ type: 'server-lost', connection: this.#connection.name, reason: this.#lost.message });
  }

  /** True if the server no longer knows the session: 404 for its id, and many servers answer 400. */
  #isForgotten(error: unknown): boolean {
    const { kind, transport } = this.#connected;
    if (kind === 'streamable HTTP' && !transport.sessionId) return false;
    const { status, text } = httpRefusal(error as Error);
    return status === 404 || (status === 400 && /session/i.test(text));
  }

  #errorContext(wasSent: boolean): ErrorContext {
    const { name: connection, startTimeoutMs: timeoutMs } = this.#connection;
    return { connection, timeoutMs, wasSent, explanation: this.#connected.explanation() };
  }
}

/** Status and text of an HTTP refusal. Over SSE the SDK has both in its message only. */
function httpRefusal(error: Error): { status: number | undefined; text: string } {
  if (error instanceof SdkHttpError) return { status: error.status, text: String(error.data?.text) };
  const [, status, text = ''] = /^Error POSTing to endpoint \(HTTP (\d+)\): (.*)/s.exec(error.message) ?? [];
  return { status: status === undefined ? undefined : Number(status), text };
}
