import {
  type Client,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { Failure } from '../core/failure.ts';
import { isRemote, type LocalServer, type RemoteServer, type ToolServer } from '../core/tools.ts';
import { failOn202, failOnEarlyEnd } from './early-end.ts';
import { toFailure } from './failure.ts';
import { LocalTransport } from './local/local-transport.ts';
import type { LoginSession } from './login.ts';
import { type Opening, openClient } from './open-client.ts';

/** A client that is connected to a server and has agreed with it on the protocol version. */
export interface Connected {
  readonly client: Client;
  readonly transport: Transport;
  readonly kind: ToolServer['transport'];
  /** Explains why a locally started server exited or did not respond. Returns '' if no reason is known. */
  explanation(): string;
  /** Runs `work`. If `work` fails because the server requires a login, lets the user log in and runs it once more. */
  withLogin<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * Connects to an MCP server. Starts the program of a local server. Connects to a remote server over Streamable HTTP, or over SSE if the
 * server does not support Streamable HTTP. Throws a Failure if the connection fails.
 */
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
  const fetch = await context.fetch(connection, server);
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

/**
 * Maximum number of logins in a row while connecting. After the first login, the server may require more scopes and therefore a second
 * login.
 */
const maxLogins = 2;

/**
 * Connects a client over a new transport. If the server requires a login, lets the user log in and tries again over another new transport.
 */
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

/**
 * Closes the client when its SSE stream ends, because the session ends with that stream. Otherwise, the SDK would open a new stream without
 * the MCP handshake.
 */
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

/**
 * Lets the user log in. Returns false if the error does not mean that a login is required, or if there is no user who can log in. Throws a
 * Failure if the server rejects the login.
 */
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
