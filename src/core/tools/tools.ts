import type { Auth, Login } from '../auth/auth.ts';
import type { JsonObject, Value } from '../value/value.ts';

/** A saved or in-flow connection to an MCP server. */
export interface McpConnection {
  readonly name: string;
  readonly server: RemoteServer | LocalServer;
  /** Whose gate its calls pass. */
  readonly origin: string;
  readonly intervalMs: number | undefined;
  readonly concurrency: number | undefined;
  /** Credits for one call. */
  readonly credits: number;
  /** Where an answer says what it really cost; absent for nowhere. */
  readonly cost: string | undefined;
  /** How long the server may take until it can be called. */
  readonly startTimeoutMs: number;
}

/** An MCP server at a URL. */
export interface RemoteServer {
  readonly url: string;
  readonly auth: Auth | Login | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly allowHttp: boolean;
}

/** An MCP server that is started here, and spoken to over its stdin and stdout. */
export interface LocalServer {
  /** The program and its arguments; no shell reads them. */
  readonly command: readonly [string, ...string[]];
  /** The variables of our own environment that it sees, besides those that every program needs. */
  readonly passEnv: readonly string[];
  /** Further variables, and the credentials whose secrets they hold. */
  readonly credentials: Readonly<Record<string, string>>;
}

/** The origin of all servers that are started here: a secret that is bound to hosts is not theirs. */
export const localOrigin = 'stdio://a-local-command';

/** Tells a server at a URL from one that is started here. */
export function isRemote(server: McpConnection['server']): server is RemoteServer {
  return 'url' in server;
}

/** A tool, as its server describes it. */
export interface Tool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: ToolSchema;
}

/** A JSON Schema, as far as it is looked into here. */
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

/** What a server says of itself. */
export interface ToolServer {
  readonly name: string;
  readonly version: string;
  /** The protocol revision that was agreed on. */
  readonly protocol: string;
  readonly transport: 'streamable HTTP' | 'SSE' | 'stdio';
  readonly tools: readonly Tool[];
}

/** One call of a tool, rendered. The same object is sent again on a retry. */
export interface ToolCall {
  readonly kind: 'tool';
  readonly connection: McpConnection;
  /** Whose gate it passes. */
  readonly origin: string;
  readonly auth?: Auth | Login;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** One limit for the whole call. The start of the server is no part of it. */
  readonly timeoutMs: number;
  /** A call never goes where a record says. */
  readonly hostFromData?: undefined;
}

/** What a tool answered. */
export interface ToolAnswer {
  readonly kind: 'tool';
  /** Whether the tool says that it has failed. */
  readonly isError: boolean;
  /** What the map reads: structuredContent, else the text as JSON, else `{ text }` with the links and files beside it. */
  readonly body: Value;
  /** All that is text in it. */
  readonly text: string;
}

/** How far a tool is, in its own measure. */
export interface ToolProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Calls tools. One client for each connection, opened when it is first needed. */
export interface Tools {
  /** Throws a Failure: `request` for arguments that the tool does not take, `network`, `timeout`, `http`, `parse`, or `tool` for a refusal. */
  call(call: ToolCall, progressed: (progress: ToolProgress) => void): Promise<ToolAnswer>;
  /** What the server of a connection says of itself. Throws a Failure. */
  server(connection: McpConnection): Promise<ToolServer>;
  /** Cancels what is in flight. */
  abort(): void;
}
