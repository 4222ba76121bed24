import type { ToolServerEvent } from '../../core/event.ts';
import type { LocalServer, McpConnection, RemoteServer } from '../../core/tools/tools.ts';
import type { Fetch } from '../http/fetch.ts';
import type { LoginSession } from './login.ts';

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

/** Answers a form that a server asks a person to fill in. */
export type Elicit = () => { action: 'accept' | 'decline'; content?: Record<string, string | number | boolean | string[]> };
