import { Client, type ClientOptions, type Transport } from '@modelcontextprotocol/client';
import type { ToolServerEvent } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import type { LocalServer, McpConnection, RemoteServer } from '../core/tools.ts';
import type { Fetch } from '../http/fetch.ts';
import { notReady, toFailure } from './failure.ts';
import type { LoginSession } from './login.ts';

export interface SessionContext {
  readonly version: string;
  /** The signal that is aborted when the run ends. */
  readonly signal: AbortSignal;
  /** Creates a fetch that adds the connection's credential to the requests to the server. */
  fetch(connection: McpConnection, server: RemoteServer): Promise<Fetch>;
  /** Variables besides basic ones such as PATH. Rejects with a Failure if a credential is missing or restricted to certain hosts. */
  variables(connection: McpConnection, server: LocalServer): Promise<Readonly<Record<string, string>>>;
  /** Undefined if the connection needs no login. Rejects with a Failure if the stored login may not be sent to the server's host. */
  login(connection: McpConnection): Promise<LoginSession | undefined>;
  /** Fills in forms that the server sends for the user. If undefined, the client tells the server that it does not support forms. */
  readonly elicit?: Elicit | undefined;
  report(event: ToolServerEvent): void;
}

export type Elicit = () => { action: 'accept' | 'decline'; content?: Record<string, string | number | boolean | string[]> };

export interface Opening {
  readonly connection: McpConnection;
  readonly context: SessionContext;
  readonly clientOptions: ClientOptions;
}

/** Agrees with the server on the protocol version within `start_timeout`. Throws a Failure if the client cannot connect. */
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

/** The SDK limits each request, but a stream or a list of tools may never end. The extra 100 ms let the SDK's timeout come first. */
export function withinStart<Result>(work: Promise<Result>, { name, startTimeoutMs }: McpConnection): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Failure('timeout', notReady(name, startTimeoutMs), { retryable: true, sent: false }));
    const timer = setTimeout(late, startTimeoutMs + 100);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
