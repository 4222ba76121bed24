import { type CallToolResult, type ClientOptions, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Failure } from '../core/failure.ts';
import type { McpConnection, Tool, ToolAnswer, ToolCall, ToolProgress, ToolServer } from '../core/tools.ts';
import { isNestedTooDeep, parseJson, tooDeep } from '../core/value/json.ts';
import { isObject, type JsonObject, orUndefined, type Value } from '../core/value/value.ts';
import { type Connected, connect, type SessionContext, withinStart } from './connect.ts';
import { type ErrorContext, toFailure } from './failure.ts';
import { ToolList } from './tool-list.ts';

/** Wait in ms after a server reports changed tools before they are listed again. Each further report restarts the wait. */
const settleMs = 300;

/** Maximum wait in ms for a server to confirm the end of the session. */
const farewellMs = 1000;

/** Connects to an MCP server, agrees with it on the protocol version and lists its tools. Throws a Failure if any of this fails. */
export async function openSession(connection: McpConnection, context: SessionContext): Promise<McpSession> {
  const tools = new ToolList(connection.name);
  const connected = await connect({ connection, context, clientOptions: clientOptions(connection, context, tools) });
  const session = new McpSession(connection, context, connected, tools);
  await session.start();
  return session;
}

/** The client fills in forms only if `elicit` is set, and never runs a language model for servers; the SDK rejects other requests. */
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

export class McpSession {
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

  /** Lists the server's tools and reports the server as started. Throws a Failure if the tools cannot be listed. */
  async start(): Promise<void> {
    try {
      await this.#listTools();
    } catch (error) {
      // The context is read before the session is closed, because closing the session would replace the real reason for the error.
      const errorContext = this.#errorContext(false);
      await this.close();
      throw toFailure(error, errorContext);
    }
    const { name, version, protocol, tools } = this.server;
    const server = `${name} ${version}`.trim();
    this.#context.report({ type: 'server-started', connection: this.#connection.name, server, protocol, tools: tools.length });
  }

  get server(): ToolServer {
    const { client, kind } = this.#connected;
    const { name = this.#connection.name, version = '' } = client.getServerVersion() ?? {};
    return { name, version, protocol: client.getNegotiatedProtocolVersion() ?? '', transport: kind, tools: this.#tools.tidied() };
  }

  /** Undefined while the session works. */
  get lost(): Failure | undefined {
    return this.#lost;
  }

  /** Calls a tool of the server. Throws a Failure if the arguments are invalid or the call fails. */
  async call({ tool, arguments: values, timeoutMs }: ToolCall, onprogress: (progress: ToolProgress) => void): Promise<ToolAnswer> {
    const { client, withLogin } = this.#connected;
    const args = this.#tools.checkArguments(tool, values);
    const options = { timeout: timeoutMs, signal: this.#context.signal, onprogress };
    try {
      return toAnswer(await withLogin(() => client.callTool({ name: tool, arguments: args }, options)));
    } catch (error) {
      if (!this.#isForgotten(error)) throw toFailure(error, { ...this.#errorContext(true), timeoutMs });
      const message = `the MCP server "${this.#connection.name}" no longer knows the session`;
      this.#lost ??= new Failure('network', message, { retryable: true, sent: false });
      throw this.#lost.withMessage(this.#lost.message);
    }
  }

  /** Ends the session. A local server is ended too. */
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
    // A single timeout limits the whole list, because the list may have any number of pages.
    const { tools } = await withLogin(() => withinStart(client.listTools(undefined, options), this.#connection));
    this.#tools.replace(tools as Tool[]);
  }

  #closed(): void {
    this.#lost ??= toFailure(new Error('the connection was closed'), this.#errorContext(true));
    if (this.#isClosing) return;
    this.#context.report({ type: 'server-lost', connection: this.#connection.name, reason: this.#lost.message });
  }

  /** True if the server no longer knows the session. The specification requires status 404, but many servers send 400. */
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

/** Returns the status and the body of an HTTP error response. With SSE, the SDK provides both only in its error message. */
function httpRefusal(error: Error): { status: number | undefined; text: string } {
  if (error instanceof SdkHttpError) return { status: error.status, text: String(error.data?.text) };
  const [, status, text = ''] = /^Error POSTing to endpoint \(HTTP (\d+)\): (.*)/s.exec(error.message) ?? [];
  return { status: status === undefined ? undefined : Number(status), text };
}

/**
 * Converts a result to the body that paths refer to: structuredContent, or else the text as JSON or as `{ text }`, with links and files
 * added. Throws a Failure (`parse`) if it is nested too deeply.
 */
export function toAnswer({ isError = false, content = [], structuredContent }: CallToolResult): ToolAnswer {
  if (isNestedTooDeep(structuredContent ?? content)) throw new Failure('parse', `the answer is ${tooDeep}`);
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const text = texts.join('\n');
  const answer = { kind: 'tool', isError, text } as const;
  if (structuredContent !== undefined) return { ...answer, body: withAllDigits(structuredContent as Value, text) };
  const others = besideText(content);
  const parsed = jsonOf(texts);
  if (parsed === undefined) return { ...answer, body: { text, ...others } };
  return { ...answer, body: isObject(parsed) ? { ...others, ...parsed } : parsed };
}

/** Restores digits that JSON.parse has rounded. Most servers repeat structuredContent as JSON text, which contains all digits. */
function withAllDigits(structured: Value, text: string): Value {
  const json = JSON.stringify(structured);
  if (!/\d{16}|\de[+-]?\d/.test(json)) return structured;
  return orUndefined(() => (JSON.stringify(JSON.parse(text)) === json ? parseJson(text) : undefined)) ?? structured;
}

/** Several JSON documents become an array. Undefined for any other text, even a number: the same tool may return `none` next time. */
function jsonOf(texts: readonly string[]): Value | undefined {
  const whole = containerOf(texts.join('\n'));
  if (whole !== undefined || texts.length < 2) return whole;
  const each = texts.map(containerOf);
  return each.every((one) => one !== undefined) ? (each as Value[]) : undefined;
}

function containerOf(text: string): Value | undefined {
  return /^\s*[[{]/.test(text) ? orUndefined(() => parseJson(text)) : undefined;
}

/** Returns everything in a tool's result except its text: links, resources, images and audio, each in a separate array. */
function besideText(content: CallToolResult['content']): JsonObject {
  const others: Record<string, Value[]> = {};
  for (const block of content) {
    if (block.type === 'text') continue;
    const { type, _meta, annotations: _annotations, ...rest } = block as { type: string; _meta?: unknown; annotations?: unknown };
    const name = lists[type] ?? 'others';
    others[name] ??= [];
    others[name].push((type === 'resource' ? (rest as { resource: Value }).resource : rest) as Value);
  }
  return others;
}

const lists: Readonly<Record<string, string>> = { resource_link: 'links', resource: 'resources', image: 'images', audio: 'audio' };
