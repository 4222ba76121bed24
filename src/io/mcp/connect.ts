import {
  type Client,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import { isRemote, type LocalServer, type RemoteServer, type ToolServer } from '../../core/tools/tools.ts';
import { failOn202, failOnEarlyEnd } from './early-end.ts';
import { toFailure } from './failure.ts';
import { LocalTransport } from './local/local-transport.ts';
import type { LoginSession } from './login.ts';
import { type Opening, openClient } from './open-client.ts';

/** A client that has agreed on the protocol with its server. */
export interface Connected {
  readonly client: Client;
  readonly transport: Transport;
  readonly kind: ToolServer['transport'];
  /** Explains the end or silence of a server that was started here; empty if nothing is known. */
  explanation(): string;
  /** Runs `work`, and runs it again if a person had to log in first. */
  withLogin<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Connects to a server: starts it here, or connects to its URL by Streamable HTTP, else by SSE. Throws a Failure. */
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
      // For a server that supports neither, the refusal of Streamable HTTP explains more.
      throw isRefusedStream(inSse) ? error : inSse;
    });
  }
}

/** Maximum of logins in a row. A server may ask for more scopes after the first login. */
const maxLogins = 2;

/** Opens a client on a transport, and on a new transport after each login. */
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

/** Over SSE the stream is the session. The SDK would open another stream without the handshake. */
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
 * Asks the person to log in. Returns false if the error does not ask for a login, or there is no person. Throws a Failure if the login is
 * refused.
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

/** True if the server may be so old that it supports SSE only (MCP, backwards compatibility). */
function maySpeakSse(error: unknown): boolean {
  const { status } = error as Partial<Failure>;
  return status === 400 || status === 404 || status === 405;
}

function isRefusedStream(error: unknown): boolean {
  return error instanceof Failure && error.kind !== 'timeout' && error.status !== 401 && error.status !== 403;
}
