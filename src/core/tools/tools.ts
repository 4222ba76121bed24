import type { Auth } from '../auth/auth.ts';
import type { Concurrency } from '../options/amounts.ts';
import type { JsonObject, Value } from '../value/value.ts';

/** A saved or in-flow connection to an MCP server. */
export interface McpConnection {
  readonly name: string;
  /** True for a saved connection: all flows share it. */
  readonly isSaved: boolean;
  readonly server: RemoteServer | LocalServer;
  /** The origin whose gate its calls pass. */
  readonly origin: string;
  readonly intervalMs: number | undefined;
  readonly concurrency: Concurrency | undefined;
  /** Credits for one call. */
  readonly credits: number;
  /** The path in an answer to its real cost. Undefined without one. */
  readonly cost: string | undefined;
  /** Maximum time of the server's start. */
  readonly startTimeoutMs: number;
}

/** An MCP server at a URL. */
export interface RemoteServer {
  readonly url: string;
  readonly auth: Auth | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly allowHttp: boolean;
}

/** An MCP server that runs on this machine and speaks over its stdin and stdout. */
export interface LocalServer {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly [string, ...string[]];
  /** Environment variables that the server's process gets, besides the variables that every program needs. */
  readonly passEnv: readonly string[];
  /** Further variables, and the credentials whose secrets they hold. */
  readonly credentials: Readonly<Record<string, string>>;
}

/** The origin of all servers on this machine: a secret that is bound to hosts is never sent to them. */
export const localOrigin = 'stdio://a-local-command';

/** True for a server at a URL. */
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

/** The keywords of JSON Schema that are used here. */
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

/** A server's description of itself. */
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
  /** The origin whose gate it passes. */
  readonly origin: string;
  readonly auth?: Auth;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** One limit for the whole call. The start of the server does not count. */
  readonly timeoutMs: number;
  /** Never set: a record cannot choose the server. */
  readonly hostFromData?: undefined;
}

/** A tool's answer. */
export interface ToolAnswer {
  readonly kind: 'tool';
  /** True if the tool says that it has failed. */
  readonly isError: boolean;
  /** The value that the map reads: structuredContent, else the text as JSON, else `{ text }` with its links and files. */
  readonly body: Value;
  /** All its text. */
  readonly text: string;
}

/** A tool's progress, in its own unit. */
export interface ToolProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Calls tools. Each connection has one client, opened for its first call. */
export interface Tools {
  /** Throws a Failure: `request` for arguments that the tool does not take, `network`, `timeout`, `http`, `parse`, or `tool` for a refusal. */
  call(call: ToolCall, progressed: (progress: ToolProgress) => void): Promise<ToolAnswer>;
  /** Asks the server of a connection for its description. Throws a Failure. */
  server(connection: McpConnection): Promise<ToolServer>;
  /** Cancels what is in flight. */
  abort(): void;
}
