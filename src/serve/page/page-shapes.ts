/** The result of a test request, as `automate test-request --json` prints it. */
export interface TestResult {
  readonly request: Readonly<Record<string, unknown>> | null;
  readonly response: {
    readonly status?: number;
    readonly ms?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  } | null;
  readonly structure: readonly StructureRow[] | null;
  readonly map: readonly Readonly<Record<string, unknown>>[] | null;
  readonly failure: { readonly class?: string; readonly status?: number | null; readonly message: string } | null;
}

/** A path of an answer. */
export interface StructureRow {
  readonly path: string;
  readonly type: string;
  readonly sample: string;
}

/** The nodes of a flow as its file writes them. */
export interface FlowText {
  /** The ETag of the whole file: a save is refused if the file has changed. */
  readonly etag: string;
  readonly nodes: readonly {
    readonly id: string;
    readonly yaml: string;
    /** Null for a node whose map the page cannot edit. */
    readonly map: Readonly<Record<string, string>> | null;
  }[];
}

/** YAML to copy into a flow: an example of a node type or of a tool. */
export interface Snippet {
  readonly name: string;
  readonly summary: string;
  readonly yaml: string;
}

/** The node types, and the tools of each MCP connection. */
export interface Library {
  readonly node_types: readonly Snippet[];
  readonly connections: readonly { readonly name: string; readonly problem: string | null; readonly tools: readonly Snippet[] }[];
}

/** The facts about the server that every page shows. */
export interface ServerInfo {
  readonly version: string;
  /** The folder of its flows. */
  readonly folder: string;
  /** The address that clients use, such as `http://127.0.0.1:4020`. */
  readonly address: string;
  /** True if maps may be saved into flow files. */
  readonly edit: boolean;
  readonly flows: number;
  readonly running: number;
  readonly connections: number;
}

/** A connection. */
export interface Connection {
  readonly name: string;
  readonly type: 'http' | 'mcp';
  readonly address: string;
  readonly auth: string;
  readonly credential: string | null;
  readonly tested_at: string | null;
  /** Null before the first test; empty if the last test succeeded. */
  readonly problem: string | null;
}

/** The result of a connection's test. */
export interface ConnectionTest {
  readonly ok: boolean;
  /** The success in one line, or the reason of the failure. */
  readonly message: string;
  /** The things to check. */
  readonly check: readonly string[];
}

/** An API key, without its value. */
export interface ShownKey {
  readonly id: string;
  readonly name: string;
  readonly start: string;
  readonly scopes: readonly string[];
  /** Null for all flows. */
  readonly flows: readonly string[] | null;
  readonly rate: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly credits: { readonly used: number; readonly quota: number | null };
  /** The requests of the last days, oldest day first. */
  readonly days: readonly { readonly day: string; readonly requests: number; readonly refused: number }[];
}

/** A new key, with its value. No other answer has the value. */
export interface NewKey {
  readonly name: string;
  readonly key: string;
}

/** The credits of a month. */
export interface Billing {
  readonly month: string;
  readonly used: number;
  readonly held: number;
  /** Null if there is no allowance. */
  readonly allowance: number | null;
  readonly remaining: number | null;
  readonly resets_at: string;
  readonly by_flow: readonly Share[];
  readonly by_node: readonly Share[];
  readonly by_connection: readonly Share[];
  readonly by_environment: readonly Share[];
  readonly by_key: readonly Share[];
  readonly days: readonly { readonly day: string; readonly credits: number }[];
  readonly months: readonly { readonly month: string; readonly credits: number }[];
  /** The limits in force, each value with its unit; null for no limit. */
  readonly limits: readonly { readonly name: string; readonly value: string | null }[];
}

/** The credits of one flow, node, connection, environment or key. */
export interface Share {
  readonly name: string;
  readonly credits: number;
}

/** A line of the audit. */
export interface AuditEntry {
  readonly time: string;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly address: string;
  readonly outcome: string;
}
