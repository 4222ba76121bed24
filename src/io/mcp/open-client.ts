import { Client, type ClientOptions, type Transport } from '@modelcontextprotocol/client';
import type { ToolServerEvent } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { LocalServer, McpConnection, RemoteServer } from '../../core/tools/tools.ts';
import type { Fetch } from '../http/fetch.ts';
import { notReady, toFailure } from './failure.ts';
import type { LoginSession } from './login.ts';

/** Settings and ports that all MCP sessions of a run share. */
export interface SessionContext {
  /** The version of automate, which is sent to servers. */
  readonly version: string;
  /** Aborted at the end of the run. */
  readonly signal: AbortSignal;
  /** Makes the fetch that signs requests to a server. */
  fetch(connection: McpConnection, server: RemoteServer): Promise<Fetch>;
  /** Environment variables of a server started here, besides PATH, HOME and the like. Throws a Failure. */
  variables(connection: McpConnection, server: LocalServer): Promise<Readonly<Record<string, string>>>;
  /** The login of a connection; absent if the connection needs no login. Throws a Failure. */
  login(connection: McpConnection): Promise<LoginSession | undefined>;
  /** Fills in a server's form for a person. Undefined if there is no person: servers learn that at the start. */
  readonly elicit?: Elicit | undefined;
  report(event: ToolServerEvent): void;
}

/** Fills in a form for a person. */
export type Elicit = () => { action: 'accept' | 'decline'; content?: Record<string, string | number | boolean | string[]> };

/** A connection to open. */
export interface Opening {
  readonly connection: McpConnection;
  readonly context: SessionContext;
  readonly clientOptions: ClientOptions;
}

/** Opens a client on a transport: agrees on the protocol within `start_timeout`. `explanation`: the reason of a failure, if one is known. Throws a Failure. */
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
    // The explanation is taken before the transport is closed: closing it would replace the real reason.
    const errorContext = { connection: name, timeoutMs, wasSent: false, explanation: explanation() };
    await transport.close().catch(() => undefined);
    throw toFailure(error, errorContext);
  }
}

/** Limits the work before the first call to `start_timeout`: a stream or a list may be endless. The SDK's own timeout comes 100 ms earlier. */
export function withinStart<Result>(work: Promise<Result>, { name, startTimeoutMs }: McpConnection): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Failure('timeout', notReady(name, startTimeoutMs), { retryable: true, sent: false }));
    const timer = setTimeout(late, startTimeoutMs + 100);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
