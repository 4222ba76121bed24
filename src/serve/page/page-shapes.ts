/** As `automate test-request --json` prints it. */
export interface ShownTest {
  readonly request: Readonly<Record<string, unknown>> | null;
  readonly response: {
    readonly status?: number;
    readonly ms?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly facts?: Readonly<Record<string, unknown>>;
  } | null;
  readonly structure: readonly ShownPath[] | null;
  /** Number of paths in the answer that `structure` leaves out; undefined if it has all of them. */
  readonly more_paths?: number;
  readonly map: readonly Readonly<Record<string, unknown>>[] | null;
  readonly failure: { readonly class?: string; readonly status?: number | null; readonly message: string } | null;
}

export interface ShownPath {
  readonly path: string;
  readonly type: string;
  readonly sample: string;
}

/** The request of a node, such as `GET https://api.example.com/users/{{id}}`. For a tool of an MCP server, `url` is its name. */
export interface NodeRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
}

export interface FlowText {
  /** ETag of the whole flow file. Saving is refused if the file has changed since it was read. */
  readonly etag: string;
  readonly file: string;
  /** Null for a flow that is not valid, because a secret might be written in it. */
  readonly text: string | null;
  /** Only of nodes that send requests. */
  readonly requests: readonly NodeRequest[];
  readonly nodes: readonly {
    readonly id: string;
    readonly yaml: string;
    /** The node's map; null if the web page cannot edit it. */
    readonly map: Readonly<Record<string, string>> | null;
  }[];
}

export interface Snippet {
  readonly name: string;
  readonly summary: string;
  readonly yaml: string;
}

export interface NodeLibrary {
  readonly node_types: readonly Snippet[];
  readonly connections: readonly { readonly name: string; readonly problem: string | null; readonly tools: readonly Snippet[] }[];
}

export interface ServerInfo {
  readonly version: string;
  readonly folder: string;
  readonly address: string;
  readonly edit: boolean;
  readonly flows: number;
  readonly running: number;
  readonly connections: number;
}

export interface ShownAuthType {
  readonly type: string;
  readonly label: string;
  /** False if the fields name the secrets. */
  readonly has_credential: boolean;
  readonly is_for_mcp: boolean;
  readonly fields: readonly ShownAuthField[];
}

interface ShownAuthField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly example: string;
  readonly is_long: boolean;
  readonly is_required: boolean;
}

export interface ShownConnection {
  readonly name: string;
  readonly type: 'http' | 'mcp';
  readonly address: string;
  readonly auth: string;
  readonly credential: string | null;
  readonly tested_at: string | null;
  /** The problem that the last test found; empty if the test succeeded, null if it has not been tested. */
  readonly problem: string | null;
}

export interface ShownConnectionTest {
  readonly ok: boolean;
  readonly message: string;
  readonly check: readonly string[];
}

export interface KeyOnPage {
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
  /** The oldest day comes first. */
  readonly days: readonly { readonly day: string; readonly requests: number; readonly refused: number }[];
}

/** A new API key with its secret value. No other response contains the value. */
export interface NewKey {
  readonly name: string;
  readonly key: string;
}

export interface Billing {
  readonly month: string;
  readonly used: number;
  readonly held: number;
  readonly allowance: number | null;
  readonly remaining: number | null;
  readonly resets_at: string;
  readonly by_flow: readonly CreditShare[];
  readonly by_node: readonly CreditShare[];
  readonly by_connection: readonly CreditShare[];
  readonly by_environment: readonly CreditShare[];
  readonly by_key: readonly CreditShare[];
  readonly days: readonly { readonly day: string; readonly credits: number }[];
  readonly months: readonly { readonly month: string; readonly credits: number }[];
  readonly limits: readonly { readonly name: string; readonly value: string | null }[];
}

export interface CreditShare {
  readonly name: string;
  readonly credits: number;
}

export interface AuditRow {
  readonly time: string;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly address: string;
  readonly outcome: string;
}
