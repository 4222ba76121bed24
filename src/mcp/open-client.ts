import { Client, type ClientOptions, type Transport } from '@modelcontextprotocol/client';
import type { ToolServerEvent } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import type { LocalServer, McpConnection, RemoteServer } from '../core/tools.ts';
import type { Fetch } from '../http/fetch.ts';
import { notReady, toFailure } from './failure.ts';
import type { LoginSession } from './login.ts';

/** The settings and functions that all MCP sessions of a run share. */
export interface SessionContext {
  /** The version of automate that is reported to servers. */
  readonly version: string;
  /** The signal that is aborted when the run ends. */
  readonly signal: AbortSignal;
  /** Creates a fetch that adds the connection's credential to the requests to the server. */
  fetch(connection: McpConnection, server: RemoteServer): Promise<Fetch>;
  /**
   * Returns the environment variables that a locally started server gets in addition to basic ones such as PATH and HOME. Rejects with a
   * Failure if a credential is missing or is restricted to certain hosts.
   */
  variables(connection: McpConnection, server: LocalServer): Promise<Readonly<Record<string, string>>>;
  /**
   * Returns the OAuth login of a connection, or undefined if the connection needs no login. Rejects with a Failure if the stored login may
   * not be sent to the server's host.
   */
  login(connection: McpConnection): Promise<LoginSession | undefined>;
  /** Fills in forms that the server sends for the user. If undefined, the client tells the server that it does not support forms. */
  readonly elicit?: Elicit | undefined;
  report(event: ToolServerEvent): void;
}

/** A function that fills in, or declines, a form that a server sends to the user. */
export type Elicit = () => { action: 'accept' | 'decline'; content?: Record<string, string | number | boolean | string[]> };

/** A connection that is being opened, with everything needed to open it. */
export interface Opening {
  readonly connection: McpConnection;
  readonly context: SessionContext;
  readonly clientOptions: ClientOptions;
}

/**
 * Connects a client over a transport and agrees with the server on the protocol version within `start_timeout`. `explanation` returns the
 * reason why a local server failed. Throws a Failure if the client cannot connect.
 */
export async function openClient(
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

/**
 * Fails `work` once `start_timeout` is exceeded. The SDK limits only the duration of each request, but a stream or a list of tools may
 * never end. The extra 100 ms let the SDK's own timeout come first.
 */
export function withinStart<Result>(work: Promise<Result>, { name, startTimeoutMs }: McpConnection): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Failure('timeout', notReady(name, startTimeoutMs), { retryable: true, sent: false }));
    const timer = setTimeout(late, startTimeoutMs + 100);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
