import {
  Client,
  type ClientOptions,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import { isRemote, type McpConnection, type RemoteServer, type ToolServer } from '../../core/tools/tools.ts';
import { answering, failOnEarlyEnd } from './early-end.ts';
import { failureOf, notReady } from './failure.ts';
import { LocalTransport } from './local/local-transport.ts';
import type { LoginSession } from './login.ts';
import type { SessionTools } from './session-tools.ts';

/** A client that has agreed on the protocol with a server. */
export interface Connected {
  readonly client: Client;
  readonly transport: Transport;
  readonly kind: ToolServer['transport'];
  /** What is known of the end of a server that was started here; empty for nothing. */
  story(): string;
  /** Does it, and does it again when somebody had to log in first. */
  withLogin<Result>(work: () => Promise<Result>): Promise<Result>;
}

type RemoteTransport = StreamableHTTPClientTransport | SSEClientTransport;

type Mode = 'auto' | 'legacy';

/** A server may ask for more rights after the first login. */
const mostLogins = 2;

const noStory = () => '';

/** Connects to a server: one that is started here, or one at a URL, by Streamable HTTP or else by SSE. Throws a Failure. */
export async function connect(connection: McpConnection, options: ClientOptions, tools: SessionTools): Promise<Connected> {
  const { server } = connection;
  if (isRemote(server)) return connectRemote(connection, server, options, tools);
  const transport = new LocalTransport(server, tools.variables(server));
  const story = () => transport.explanation();
  const client = await clientOn(transport, { connection, options, tools, mode: 'legacy', story });
  return { client, transport, kind: 'stdio', story, withLogin: (work) => work() };
}

async function connectRemote(
  connection: McpConnection,
  server: RemoteServer,
  options: ClientOptions,
  tools: SessionTools,
): Promise<Connected> {
  const login = tools.login(connection);
  const url = new URL(server.url);
  const how = { fetch: tools.fetch(server), ...(login && { authProvider: login.provider }) };
  const opened = (create: () => RemoteTransport, mode: Mode) =>
    afterLogin(create, login, connection, (transport) => clientOn(transport, { connection, options, tools, mode, story: noStory }));
  try {
    return connected(
      await opened(
        () => failOnEarlyEnd(new StreamableHTTPClientTransport(url, { ...how, fetch: answering(how.fetch) }), connection.name),
        'auto',
      ),
      'streamable HTTP',
    );
  } catch (error) {
    if (!isOlder(error)) throw error;
    const found = await opened(() => new SSEClientTransport(url, how), 'legacy').catch((inSse: unknown) => {
      // Where neither is spoken, the first refusal tells more.
      throw isRefusedStream(inSse) ? error : inSse;
    });
    endWithStream(found.client);
    return connected(found, 'SSE');
  }

  function connected({ client, transport }: { client: Client; transport: RemoteTransport }, kind: ToolServer['transport']): Connected {
    return {
      client,
      transport,
      kind,
      story: noStory,
      async withLogin(work) {
        try {
          return await work();
        } catch (error) {
          if (await hasLoggedIn(transport, login, connection, error)) return work();
          throw error;
        }
      },
    };
  }
}

/** The stream of SSE is the session: the client would open another one, and nobody would have said hello there. */
function endWithStream(client: Client): void {
  client.onerror = (error) => {
    if (error instanceof SseError) void client.close();
  };
}

/** A client on a transport, and on another one when somebody had to log in first. */
async function afterLogin(
  create: () => RemoteTransport,
  login: LoginSession | undefined,
  connection: McpConnection,
  open: (transport: RemoteTransport) => Promise<Client>,
): Promise<{ client: Client; transport: RemoteTransport }> {
  for (let logins = 0; ; logins++) {
    const transport = create();
    try {
      return { client: await open(transport), transport };
    } catch (error) {
      if (logins === mostLogins || !(await hasLoggedIn(transport, login, connection, error))) throw error;
    }
  }
}

/** Whether a person was asked to log in, and has. Throws what they were refused for. */
async function hasLoggedIn(
  transport: RemoteTransport,
  login: LoginSession | undefined,
  { name, startTimeoutMs }: McpConnection,
  error: unknown,
): Promise<boolean> {
  if (!login?.answer || !asksForLogin(error)) return false;
  await transport.finishAuth(await login.answer()).catch((refused: unknown) => {
    throw failureOf(refused, { connection: name, timeoutMs: startTimeoutMs, wasSent: false, story: '' });
  });
  return true;
}

function asksForLogin(error: unknown): boolean {
  return error instanceof UnauthorizedError || (error as Error).cause instanceof UnauthorizedError;
}

interface Opening {
  readonly connection: McpConnection;
  readonly options: ClientOptions;
  readonly tools: SessionTools;
  readonly mode: Mode;
  story(): string;
}

async function clientOn(transport: Transport, { connection, options, tools, mode, story }: Opening): Promise<Client> {
  const { name, startTimeoutMs: timeoutMs } = connection;
  const client = new Client({ name: 'automate', version: tools.version }, { ...options, versionNegotiation: { mode } });
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
    const message = typeof data === 'string' ? data : JSON.stringify(data);
    tools.report({ type: 'server-log', connection: name, level, logger, message });
  });
  if (tools.elicit) client.setRequestHandler('elicitation/create', tools.elicit);
  try {
    await withinStart(client.connect(transport, { timeout: timeoutMs, signal: tools.signal }), connection);
    return client;
  } catch (error) {
    const told = story();
    await transport.close().catch(() => undefined);
    throw failureOf(error, { connection: name, timeoutMs, wasSent: false, story: told });
  }
}

/** What a server does before it can be called, within its time: a stream may open without end, and a list go on without end. */
export function withinStart<Result>(work: Promise<Result>, { name, startTimeoutMs }: McpConnection): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Failure('timeout', notReady(name, startTimeoutMs), { retryable: true, sent: false }));
    const timer = setTimeout(late, startTimeoutMs + 100);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Whether the server may be one that speaks SSE only (MCP, backwards compatibility). */
function isOlder(error: unknown): boolean {
  const { status } = error as Partial<Failure>;
  return status === 400 || status === 404 || status === 405;
}

function isRefusedStream(error: unknown): boolean {
  return error instanceof Failure && error.kind !== 'timeout' && error.status !== 401 && error.status !== 403;
}
