import { type ClientOptions, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import { tidiedTool } from '../../core/tools/tool-schema.ts';
import type { McpConnection, ToolAnswer, ToolCall, ToolProgress, ToolServer } from '../../core/tools/tools.ts';
import { toAnswer } from './answer.ts';
import { createArgumentCheck } from './argument-check.ts';
import { connect, withinStart } from './connect.ts';
import { failureOf, type Occasion } from './failure.ts';
import { plainArguments } from './plain-arguments.ts';
import type { SessionTools } from './session-tools.ts';

/** A client that is connected to a server. */
export interface Session {
  readonly server: ToolServer;
  /** Why nobody answers any more; absent while somebody does. */
  lost(): Failure | undefined;
  /** Throws a Failure. */
  call(call: ToolCall, progressed: (progress: ToolProgress) => void): Promise<ToolAnswer>;
  /** Ends it, and the server if it was started here. */
  close(): Promise<void>;
}

/** So long the list of tools may go on changing before it is asked for again. */
const settleMs = 300;

/** So long a server may take to note that the session is over. */
const farewellMs = 1000;

/** Opens a session: agrees on the protocol, and asks for the tools. Throws a Failure. */
export async function openSession(connection: McpConnection, tools: SessionTools): Promise<Session> {
  const { name, startTimeoutMs } = connection;
  const argumentsOf = createArgumentCheck(name);
  let known: ToolServer['tools'] = [];
  let lost: Failure | undefined;
  let isClosing = false;
  const { client, transport, kind, story, withLogin } = await connect(connection, clientOptions(), tools);
  client.onclose = () => {
    lost ??= failureOf(new Error('the connection was closed'), occasion(true));
    if (!isClosing) tools.report({ type: 'server-lost', connection: name, reason: lost.message });
  };
  try {
    await askForTools();
  } catch (error) {
    // The end that it is about to come to is not the reason.
    const where = occasion(false);
    await close();
    throw failureOf(error, where);
  }
  const { name: called = name, version = '' } = client.getServerVersion() ?? {};
  const protocol = client.getNegotiatedProtocolVersion() ?? '';
  tools.report({ type: 'server-started', connection: name, server: `${called} ${version}`.trim(), protocol, tools: known.length });
  return {
    get server() {
      return { name: called, version, protocol, transport: kind, tools: known };
    },
    lost: () => lost,
    call,
    close,
  };

  /** It has neither a model nor a person to ask: it says so, and a server that asks all the same is told so again. */
  function clientOptions(): ClientOptions {
    return {
      capabilities: tools.elicit ? { elicitation: { form: { applyDefaults: true } } } : {},
      enforceStrictCapabilities: true,
      listMaxPages: 1000,
      listChanged: {
        tools: {
          autoRefresh: true,
          debounceMs: settleMs,
          onChanged(error, found) {
            if (error || !found) return;
            learn(found as ToolServer['tools']);
            tools.report({ type: 'server-tools', connection: name, tools: found.length });
          },
        },
      },
    };
  }

  async function askForTools(): Promise<void> {
    if (!client.getServerCapabilities()?.tools) return;
    // One limit for all pages: a list without end is none.
    const listed = () => withinStart(client.listTools(undefined, { timeout: startTimeoutMs, signal: tools.signal }), connection);
    learn((await withLogin(listed)).tools as ToolServer['tools']);
  }

  function learn(found: ToolServer['tools']): void {
    known = found.map(tidiedTool);
    argumentsOf.learn(found);
  }

  async function call({ tool, arguments: values, timeoutMs }: ToolCall, progressed: (progress: ToolProgress) => void): Promise<ToolAnswer> {
    const args = argumentsOf.accepted(tool, plainArguments(values));
    const options = { timeout: timeoutMs, signal: tools.signal, onprogress: progressed };
    try {
      return toAnswer(await withLogin(() => client.callTool({ name: tool, arguments: args }, options)));
    } catch (error) {
      if (!isEndOfSession(error)) throw failureOf(error, { ...occasion(true), timeoutMs });
      lost ??= new Failure('network', `the MCP server "${name}" has forgotten the session`, { retryable: true, sent: false });
      throw lost.retold(lost.message);
    }
  }

  /** A session that a server has forgotten begins anew (404 for its id; many answer 400). */
  function isEndOfSession(error: unknown): boolean {
    if (kind === 'streamable HTTP' && !transport.sessionId) return false;
    const { status, text } = refusalOf(error as Error);
    return status === 404 || (status === 400 && /session/i.test(text));
  }

  function occasion(wasSent: boolean): Occasion {
    return { connection: name, timeoutMs: startTimeoutMs, wasSent, story: story() };
  }

  async function close(): Promise<void> {
    isClosing = true;
    if (transport instanceof StreamableHTTPClientTransport) {
      await Promise.race([
        transport.terminateSession().catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, farewellMs).unref()),
      ]);
    }
    await client.close().catch(() => undefined);
  }
}

/** A refusal with its text; over SSE the client tells it in words only. */
function refusalOf(error: Error): { status: number | undefined; text: string } {
  if (error instanceof SdkHttpError) return { status: error.status, text: String(error.data?.text) };
  const [, status, text = ''] = /^Error POSTing to endpoint \(HTTP (\d+)\): (.*)/s.exec(error.message) ?? [];
  return { status: status === undefined ? undefined : Number(status), text };
}
