import {
  Client,
  type ClientOptions,
  SdkHttpError,
  type Tool as SdkTool,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import type { ToolServerEvent } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import {
  isRemote,
  type LocalServer,
  type McpConnection,
  type RemoteServer,
  type ToolAnswer,
  type ToolCall,
  type ToolProgress,
  type ToolSchema,
  type ToolServer,
} from '../../core/tools.ts';
import { toAnswer } from './answer.ts';
import { failureOf } from './failure.ts';
import type { Fetch } from './fetch.ts';
import { createLocalTransport, type LocalTransport } from './local-transport.ts';
import type { LoginSession } from './login.ts';
import { plainArguments } from './plain-arguments.ts';

/** What a session is opened with. */
export interface SessionTools {
  /** Told to servers. */
  readonly version: string;
  /** Sends to the connection's server. */
  fetch(server: RemoteServer): Fetch;
  /** The variables that a server started here sees besides the usual ones. Throws a Failure. */
  variables(server: LocalServer): Readonly<Record<string, string>>;
  /** Whoever knows the tokens of a login; absent where there is none. */
  login(connection: McpConnection): LoginSession | undefined;
  /** Answers what a server asks of a person; absent where nobody does, and the server is told so. */
  readonly elicit?: Elicit | undefined;
  report(event: ToolServerEvent): void;
  /** Aborted when nothing goes on any more. */
  readonly signal: AbortSignal;
}

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

/** Answers a form that a server asks a person to fill in. */
export type Elicit = () => { action: 'accept' | 'decline'; content?: Record<string, string | number | boolean | string[]> };

type RemoteTransport = StreamableHTTPClientTransport | SSEClientTransport;

/** A server may ask for more rights after the first login. */
const mostLogins = 2;

type Check = (value: unknown) => { readonly valid: boolean; readonly errorMessage?: string | undefined };

/** So long the list of tools may go on changing before it is asked for again. */
const settleMs = 300;

/** Opens a session: agrees on the protocol, and asks for the tools. Throws a Failure. */
export async function openSession(connection: McpConnection, tools: SessionTools): Promise<Session> {
  const { name, server, startTimeoutMs } = connection;
  const login = tools.login(connection);
  const checks = new Map<string, Check>();
  const validator = new AjvJsonSchemaValidator();
  let known: readonly SdkTool[] = [];
  let lost: Failure | undefined;
  let isClosing = false;
  let local: LocalTransport | undefined;
  const connected = await connect();
  const { client, transport, kind } = connected;
  client.onclose = () => {
    lost ??= failureOf(new Error('the connection was closed'), occasion(true));
    if (!isClosing) tools.report({ type: 'server-lost', connection: name, reason: lost.message });
  };
  try {
    await learnTools();
  } catch (error) {
    await close();
    throw failureOf(error, occasion(false));
  }
  const { name: called = name, version = '' } = client.getServerVersion() ?? {};
  const protocol = client.getNegotiatedProtocolVersion() ?? '';
  tools.report({ type: 'server-started', connection: name, server: `${called} ${version}`.trim(), protocol, tools: known.length });
  return {
    get server() {
      return { name: called, version, protocol, transport: kind, tools: known as ToolServer['tools'] };
    },
    lost: () => lost,
    call,
    close,
  };

  async function connect(): Promise<{ client: Client; transport: Transport; kind: ToolServer['transport'] }> {
    if (!isRemote(server)) {
      local = createLocalTransport(server, tools.variables(server));
      return { client: await clientOn(local, 'legacy'), transport: local, kind: 'stdio' };
    }
    const url = new URL(server.url);
    const options = { fetch: tools.fetch(server), ...(login && { authProvider: login.provider }) };
    try {
      const opened = await afterLogin(() => new StreamableHTTPClientTransport(url, options), 'auto');
      return { ...opened, kind: 'streamable HTTP' };
    } catch (error) {
      if (!isOlder(error)) throw error;
      const opened = await afterLogin(() => new SSEClientTransport(url, options), 'legacy').catch((inSse: unknown) => {
        // Where neither is spoken, the first refusal tells more.
        throw isRefusedStream(inSse) ? error : inSse;
      });
      return { ...opened, kind: 'SSE' };
    }
  }

  /** A client on a transport, and on another one when somebody had to log in first. */
  async function afterLogin(
    create: () => RemoteTransport,
    mode: 'auto' | 'legacy',
  ): Promise<{ client: Client; transport: RemoteTransport }> {
    for (let logins = 0; ; logins++) {
      const transport = create();
      try {
        return { client: await clientOn(transport, mode), transport };
      } catch (error) {
        if (logins === mostLogins || !(await hasLoggedIn(transport, error))) throw error;
      }
    }
  }

  /** Does it, and does it again when somebody had to log in first. */
  async function withLogin<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (await hasLoggedIn(transport, error)) return work();
      throw error;
    }
  }

  /** Whether a person was asked to log in, and has. Throws what they were refused for. */
  async function hasLoggedIn(transport: Transport, error: unknown): Promise<boolean> {
    if (!login?.answer || !('finishAuth' in transport) || !asksForLogin(error)) return false;
    await (transport as RemoteTransport).finishAuth(await login.answer()).catch((refused: unknown) => {
      throw failureOf(refused, occasion(false));
    });
    return true;
  }

  async function clientOn(transport: Transport, mode: 'auto' | 'legacy'): Promise<Client> {
    const client = new Client({ name: 'automate', version: tools.version }, clientOptions(mode));
    client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
      const message = typeof data === 'string' ? data : JSON.stringify(data);
      tools.report({ type: 'server-log', connection: name, level, logger, message });
    });
    if (tools.elicit) client.setRequestHandler('elicitation/create', tools.elicit);
    try {
      await withinStart(client.connect(transport, { timeout: startTimeoutMs, signal: tools.signal }));
      return client;
    } catch (error) {
      const { story } = occasion(false);
      await transport.close().catch(() => undefined);
      throw failureOf(error, { ...occasion(false), story });
    }
  }

  /** A transport that opens a stream before the first message waits for it without end. */
  function withinStart<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const seconds = startTimeoutMs / 1000;
      const late = new Failure('timeout', `the MCP server "${name}" is not ready within ${seconds} s (start_timeout)`, {
        retryable: true,
        sent: false,
      });
      const timer = setTimeout(() => reject(late), startTimeoutMs + 100);
      work.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** It neither asks a model nor a person for anything: it says that it can't, and a server that asks all the same is told so. */
  function clientOptions(mode: 'auto' | 'legacy'): ClientOptions {
    return {
      capabilities: tools.elicit ? { elicitation: { form: { applyDefaults: true } } } : {},
      enforceStrictCapabilities: true,
      versionNegotiation: { mode },
      listMaxPages: 1000,
      listChanged: {
        tools: {
          autoRefresh: true,
          debounceMs: settleMs,
          onChanged: (error, found) => {
            if (error || !found) return;
            checks.clear();
            known = found;
            tools.report({ type: 'server-tools', connection: name, tools: found.length });
          },
        },
      },
    };
  }

  async function learnTools(): Promise<void> {
    if (!client.getServerCapabilities()?.tools) return;
    const listed = () => client.listTools(undefined, { timeout: startTimeoutMs, signal: tools.signal });
    known = (await withLogin(listed)).tools;
  }

  async function call({ tool, arguments: values, timeoutMs }: ToolCall, progressed: (progress: ToolProgress) => void): Promise<ToolAnswer> {
    const args = acceptedArguments(tool, plainArguments(values));
    const options = { timeout: timeoutMs, signal: tools.signal, onprogress: progressed };
    const called = () => client.callTool({ name: tool, arguments: args }, options);
    try {
      return toAnswer(await withLogin(called));
    } catch (error) {
      if (isEndOfSession(error)) {
        lost ??= new Failure('network', `the MCP server "${name}" has forgotten the session`, { retryable: true, sent: false });
        throw lost.retold(lost.message);
      }
      throw failureOf(error, { ...occasion(true), timeoutMs });
    }
  }

  /** What the tool would refuse costs nothing. An argument that is null where only its absence will do is left out. */
  function acceptedArguments(tool: string, args: Record<string, unknown>): Record<string, unknown> {
    const check = checks.get(tool) ?? checkOf(tool);
    const { valid, errorMessage = '' } = check(args);
    if (valid) return args;
    const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
    if (check(given).valid) return given;
    const hint = /must be (?:number|integer|boolean)/.test(errorMessage)
      ? '\na CSV cell is a text; write the arguments as JSON text with {{field}} outside quotes, or convert it: cel: "double(field)"'
      : '';
    throw new Failure('request', `the tool "${tool}" does not take these arguments: ${withChoices(tool, inWords(errorMessage))}${hint}`, {
      sent: false,
    });
  }

  /** What is allowed is told where it is a few values. */
  function withChoices(tool: string, message: string): string {
    const { properties = {} } = (known.find((candidate) => candidate.name === tool)?.inputSchema ?? {}) as ToolSchema;
    return message.replace(/(\S+) must be equal to one of the allowed values/, (whole, name: string) => {
      const allowed = Object.hasOwn(properties, name) ? properties[name]?.enum : undefined;
      return allowed ? `${name} must be one of ${allowed.map((value) => JSON.stringify(value)).join(', ')}` : whole;
    });
  }

  /** A schema that nobody can read is left to the server. */
  function checkOf(tool: string): Check {
    const found = known.find((candidate) => candidate.name === tool);
    if (!found) {
      const names = known.map((candidate) => candidate.name).join(', ');
      throw new Failure('request', `the server of "${name}" has no tool "${tool}"; it has ${names || 'none'}`, { sent: false });
    }
    let check: Check = () => ({ valid: true });
    try {
      check = validator.getValidator(found.inputSchema as never);
    } catch {
      // The server reads its own schema.
    }
    checks.set(tool, check);
    return check;
  }

  /** A session that a server has forgotten begins anew (Streamable HTTP: 404 for its id; many answer 400). */
  function isEndOfSession(error: unknown): boolean {
    if (!(error instanceof SdkHttpError) || !(transport instanceof StreamableHTTPClientTransport) || !transport.sessionId) return false;
    return error.status === 404 || (error.status === 400 && /session/i.test(String(error.data?.text)));
  }

  function occasion(wasSent: boolean) {
    return { connection: name, timeoutMs: startTimeoutMs, wasSent, story: local?.story() ?? '' };
  }

  async function close(): Promise<void> {
    isClosing = true;
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => undefined);
    await client.close().catch(() => undefined);
  }
}

function asksForLogin(error: unknown): boolean {
  return error instanceof UnauthorizedError || (error as Error).cause instanceof UnauthorizedError;
}

/** Whether the server may be one that speaks SSE only (MCP, backwards compatibility). */
function isOlder(error: unknown): boolean {
  const status = (error as Partial<Failure>).status;
  return status === 400 || status === 404 || status === 405;
}

function isRefusedStream(error: unknown): boolean {
  return error instanceof Failure && error.kind !== 'timeout' && error.status !== 401 && error.status !== 403;
}

/** `data/a must be number`: the name of the argument is enough. */
function inWords(message: string): string {
  return message.replace(/\bdata\/?/g, '').replace(/^\s+|(?<=, )\s+/g, '');
}
