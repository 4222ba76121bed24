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

/** The nodes of a flow as they are written. */
export interface FlowText {
  /** Of the whole file: a save refuses a file that has changed. */
  readonly etag: string;
  readonly nodes: readonly {
    readonly id: string;
    readonly yaml: string;
    /** Null for a node without a map that could be edited here. */
    readonly map: Readonly<Record<string, string>> | null;
  }[];
}

/** A thing to copy into a flow. */
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

/** The server itself. */
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
  /** Null before the first test; empty if it went well. */
  readonly problem: string | null;
}

/** The result of a connection's test. */
export interface ConnectionTest {
  readonly ok: boolean;
  /** The answer in a line, or the reason of the failure. */
  readonly message: string;
  /** The things to check. */
  readonly check: readonly string[];
}

/** An API key. Its value is in no answer but the one that makes it. */
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
  /** The last days, oldest first. */
  readonly days: readonly { readonly day: string; readonly requests: number; readonly refused: number }[];
}

/** A key that was made just now. */
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
  /** Each with its unit; null is unlimited. */
  readonly limits: readonly { readonly name: string; readonly value: string | null }[];
}

/** A part of a month's credits. */
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
