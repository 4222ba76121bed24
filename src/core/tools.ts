import type { Arrival } from './answer/facts.ts';
import { type Auth, neededCredentials } from './auth/auth.ts';
import { credentialFor, type NeededCredential, originOf } from './auth/auth-type.ts';
import type { Concurrency } from './options/amounts.ts';
import type { JsonObject, Value } from './value/value.ts';

export interface McpConnection {
  readonly name: string;
  readonly isSaved: boolean;
  readonly server: RemoteServer | LocalServer;
  /** The origin that identifies the gate (the rate limiter of an API) for calls through this connection. */
  readonly origin: string;
  readonly intervalMs: number | undefined;
  readonly concurrency: Concurrency | undefined;
  readonly credits: number;
  readonly cost: string | undefined;
  readonly startTimeoutMs: number;
}

export interface RemoteServer {
  readonly url: string;
  readonly auth: Auth | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly allowHttp: boolean;
}

/** An MCP server that runs on this machine, and communicates over stdin and stdout. */
export interface LocalServer {
  /** The program and its arguments. They are not interpreted by a shell. */
  readonly command: readonly [string, ...string[]];
  /** Names of environment variables that are passed on to the server's process, in addition to the variables that every program needs. */
  readonly passEnv: readonly string[];
  /** The credentials whose secrets are passed to the server's process, keyed by the name of the environment variable. */
  readonly credentials: Readonly<Record<string, string>>;
}

/** The origin that stands for every server on this machine. A secret that is restricted to certain hosts is never sent to it. */
export const localOrigin = 'stdio://a-local-command';

export function isRemote(server: McpConnection['server']): server is RemoteServer {
  return 'url' in server;
}

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: ToolSchema;
}

export interface ToolSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ToolSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly patternProperties?: unknown;
  readonly items?: ToolSchema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly ToolSchema[];
  readonly oneOf?: readonly ToolSchema[];
}

export interface ToolServer {
  readonly name: string;
  readonly version: string;
  /** The protocol revision on which client and server agreed. */
  readonly protocol: string;
  readonly transport: 'streamable HTTP' | 'SSE' | 'stdio';
  readonly tools: readonly Tool[];
}

/** Retries send the same object. */
export interface ToolCall {
  readonly kind: 'tool';
  readonly connection: McpConnection;
  /** The origin that identifies the gate for the call. */
  readonly origin: string;
  readonly auth?: Auth;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Time limit for the whole call in ms, not counting the start of the server. */
  readonly timeoutMs: number;
  /** Never set, because a record cannot choose the server. */
  readonly hostFromData?: undefined;
}

export interface ToolAnswer {
  readonly kind: 'tool';
  /** True if the tool reported a failure. */
  readonly isError: boolean;
  /** The map reads structuredContent, or the text parsed as JSON. Other text becomes `{ text }` with the response's links and files. */
  readonly body: Value;
  /** The complete text of the response. */
  readonly text: string;
  /** Undefined if no map needs it. */
  readonly arrival?: Arrival;
}

/** The progress that a tool reports, in a unit that the tool chooses. */
export interface ToolProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Calls tools. Each connection has one client, which is opened for the first call. */
export interface Tools {
  /** Throws a Failure: `request` for refused arguments, `tool` if the tool refuses, or `network`, `timeout`, `http` or `parse`. */
  call(call: ToolCall, progressed: (progress: ToolProgress) => void): Promise<ToolAnswer>;
  /** Throws a Failure if the server does not respond. */
  server(connection: McpConnection): Promise<ToolServer>;
  abort(): void;
}

export function loginHint(connection: string): string {
  return `log in: automate connections login ${connection}`;
}

export function serverCredentials({ server }: Pick<McpConnection, 'server'>): readonly NeededCredential[] {
  if (!isRemote(server)) return Object.values(server.credentials).map((name) => credentialFor(name, localOrigin));
  return server.auth ? neededCredentials(server.auth, originOf(server.url)) : [];
}
