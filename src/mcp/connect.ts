import {
  Client,
  type ClientOptions,
  type JSONRPCMessage,
  type JSONRPCRequest,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { ToolServerEvent } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import { isRemote, type LocalServer, type McpConnection, type RemoteServer, type ToolServer } from '../core/tools.ts';
import { type Fetch, messageTooLong } from '../http/fetch.ts';
import { notReady, toFailure } from './failure.ts';
import { LocalTransport } from './local-transport.ts';
import type { LoginSession } from './login.ts';
import { readableFetch } from './readable.ts';

export interface Connected {
  readonly client: Client;
  readonly transport: Transport;
  readonly kind: ToolServer['transport'];
  /** Explains why a locally started server exited or did not respond. Returns '' if no reason is known. */
  explanation(): string;
  /** Runs `work`. If `work` fails because the server requires a login, lets the user log in and runs it once more. */
  withLogin<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Uses Streamable HTTP for a remote server, or SSE if the server lacks it. Throws a Failure if the connection fails. */
export function connect(opening: Opening): Promise<Connected> {
  const { server } = opening.connection;
  return isRemote(server) ? connectRemote(server, opening) : connectLocal(server, opening);
}

async function connectLocal(server: LocalServer, opening: Opening): Promise<Connected> {
  const transport = new LocalTransport(server, await opening.context.variables(opening.connection, server));
  const explanation = () => transport.explanation();
  const client = await openClient(transport, 'legacy', opening, explanation);
  return { client, transport, kind: 'stdio', explanation, withLogin: (work) => work() };
}

type RemoteTransport = StreamableHTTPClientTransport | SSEClientTransport;

interface RemoteOpening extends Opening {
  readonly login: LoginSession | undefined;
}

async function connectRemote(server: RemoteServer, opening: Opening): Promise<Connected> {
  const { context, connection } = opening;
  const login = await context.login(connection);
  const fetch = readableFetch(await context.fetch(connection, server), requestId);
  const url = new URL(server.url);
  const auth = login && { authProvider: login.provider };
  const http = () => failOnEarlyEnd(new StreamableHTTPClientTransport(url, { ...auth, fetch: failOn202(fetch) }), connection.name);
  const remote = { ...opening, login };
  try {
    return await openRemote(http, 'streamable HTTP', remote);
  } catch (error) {
    if (!maySpeakSse(error)) throw error;
    return await openRemote(() => new SSEClientTransport(url, { ...auth, fetch }), 'SSE', remote).catch((inSse: unknown) => {
      // If the server supports neither Streamable HTTP nor SSE, the error from Streamable HTTP is thrown, because it is more informative.
      throw isRefusedStream(inSse) ? error : inSse;
    });
  }
}

/** Maximum number of logins in a row. After the first login, the server may require more scopes and thus a second login. */
const maxLogins = 2;

/** If the server requires a login, lets the user log in and tries again over a new transport. */
async function openRemote(create: () => RemoteTransport, kind: 'streamable HTTP' | 'SSE', remote: RemoteOpening): Promise<Connected> {
  for (let logins = 0; ; logins++) {
    const transport = create();
    try {
      const client = await openClient(transport, kind === 'SSE' ? 'legacy' : 'auto', remote, noExplanation);
      if (kind === 'SSE') closeWithStream(client);
      return { client, transport, kind, explanation: noExplanation, withLogin: (work) => retryAfterLogin(work, transport, remote) };
    } catch (error) {
      if (logins === maxLogins || !(await logIn(error, transport, remote))) throw error;
    }
  }
}

const noExplanation = () => '';

/** Closes the client when its SSE stream ends. Otherwise, the SDK would open a new stream without the MCP handshake. */
function closeWithStream(client: Client): void {
  client.onerror = (error) => {
    if (error instanceof SseError) void client.close();
  };
}

async function retryAfterLogin<Result>(work: () => Promise<Result>, transport: RemoteTransport, remote: RemoteOpening): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (await logIn(error, transport, remote)) return work();
    throw error;
  }
}

/** False if no login is required, or if there is no user who can log in. Throws a Failure if the server rejects the login. */
async function logIn(error: unknown, transport: RemoteTransport, { login, connection }: RemoteOpening): Promise<boolean> {
  const asksForLogin = error instanceof UnauthorizedError || (error as Error).cause instanceof UnauthorizedError;
  if (!login?.answer || !asksForLogin) return false;
  await transport.finishAuth(await login.answer()).catch((refused: unknown) => {
    const { name, startTimeoutMs: timeoutMs } = connection;
    throw toFailure(refused, { connection: name, timeoutMs, wasSent: false, explanation: '' });
  });
  return true;
}

/** Returns true if the error's HTTP status suggests an old server that supports only SSE (MCP specification, backwards compatibility). */
function maySpeakSse(error: unknown): boolean {
  const { status } = error as Partial<Failure>;
  return status === 400 || status === 404 || status === 405;
}

function isRefusedStream(error: unknown): boolean {
  return error instanceof Failure && error.kind !== 'timeout' && error.status !== 401 && error.status !== 403;
}

/** Makes a tool call fail as soon as its response stream ends without a result. Without this, the SDK would wait for the timeout. */
function failOnEarlyEnd(transport: StreamableHTTPClientTransport, connection: string): StreamableHTTPClientTransport {
  const send = transport.send.bind(transport);
  let lastError = '';
  transport.onerror = ({ message }) => {
    lastError = message;
  };
  transport.send = (message, options) => {
    if (!isRequest(message) || options?.onRequestStreamEnd) return send(message, options);
    // Reports the failure of the request. If the result has already arrived, the client ignores this message.
    const onRequestStreamEnd = () => {
      const cause = endFailure(connection, lastError);
      lastError = '';
      transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: cause.message, data: { cause } } });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

/** Wraps a fetch so that a call fails if the server responds with status 202, which means that no result will follow. */
function failOn202(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 202 || init?.method !== 'POST' || !isRequest(parseBody(String(init.body)))) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new Failure('parse', 'the server answered 202, as if no answer were expected');
  };
}

/** `lastError` is the last error message of the SDK. */
function endFailure(connection: string, lastError: string): Failure {
  if (lastError.includes(messageTooLong)) return new Failure('parse', messageTooLong);
  return new Failure('network', `the MCP server "${connection}" closed the connection before it answered`, { retryable: true });
}

/** Parses the JSON-RPC message in a request body. Returns an empty object for a token request, whose body is form-encoded. */
function parseBody(text: string): JSONRPCMessage {
  return JSON.parse(text.startsWith('{') ? text : '{}');
}

function requestId(body: string): string | number | undefined {
  const message = parseBody(body);
  return isRequest(message) ? message.id : undefined;
}

function isRequest(message: JSONRPCMessage | JSONRPCMessage[]): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}

export interface SessionContext {
  readonly version: string;
  readonly signal: AbortSignal;
  /** Creates a fetch that adds the connection's credential to the requests to the server. */
  fetch(connection: McpConnection, server: RemoteServer): Promise<Fetch>;
  /** Variables besides basic ones such as PATH. Rejects with a Failure if a credential is missing or restricted to certain hosts. */
  variables(connection: McpConnection, server: LocalServer): Promise<Readonly<Record<string, string>>>;
  /** Undefined if the connection needs no login. Rejects with a Failure if the stored login may not be sent to the server's host. */
  login(connection: McpConnection): Promise<LoginSession | undefined>;
  /** Fills in forms that the server sends for the user. If undefined, the client tells the server that it does not support forms. */
  readonly elicit?: Elicit;
  report(event: ToolServerEvent): void;
}

export type Elicit = () => { action: 'accept' | 'decline'; content?: Record<string, string | number | boolean | string[]> };

interface Opening {
  readonly connection: McpConnection;
  readonly context: SessionContext;
  readonly clientOptions: ClientOptions;
}

/** Agrees with the server on the protocol version within `start_timeout`. Throws a Failure if the client cannot connect. */
async function openClient(
  transport: Transport,
  mode: 'auto' | 'legacy',
  { connection, clientOptions, context }: Opening,
  explanation: () => string,
): Promise<Client> {
  const { name, startTimeoutMs: timeoutMs } = connection;
  const client = new Client({ name: 'automate', version: context.version }, { ...clientOptions, versionNegotiation: { mode } });
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
    const message = typeof data === 'string' ? data : JSON.stringify(data);
    context.report({ type: 'server-log', connection: name, level, logger, message });
  });
  if (context.elicit) client.setRequestHandler('elicitation/create', context.elicit);
  try {
    await withinStart(client.connect(transport, { timeout: timeoutMs, signal: context.signal }), connection);
    return client;
  } catch (error) {
    // The explanation is read before the transport is closed, because closing the transport would replace the real reason.
    const errorContext = { connection: name, timeoutMs, wasSent: false, explanation: explanation() };
    await transport.close().catch(() => undefined);
    throw toFailure(error, errorContext);
  }
}

/** The SDK limits each request, but a stream or a list of tools may never end. The extra 100 ms let the SDK's timeout come first. */
export function withinStart<Result>(work: Promise<Result>, { name, startTimeoutMs }: McpConnection): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Failure('timeout', notReady(name, startTimeoutMs), { retryable: true, sent: false }));
    const timer = setTimeout(late, startTimeoutMs + 100);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
