import type { shownAuthTypes } from './auth-form.ts';
import type { shownConnections } from './connection-routes.ts';
import type { madeJson, shownKeys } from './key-routes.ts';
import type { billingOf, libraryOf } from './page-routes.ts';

export type { ShownConnectionTest } from './connection-routes.ts';
export type { FlowText, NodeRequest } from './flow-text-routes.ts';
export type { AuditRow, ServerInfo } from './page-routes.ts';

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

export type NodeLibrary = Awaited<ReturnType<typeof libraryOf>>;

/** YAML to copy into a flow, which is an example of a node type or tool. */
export type Snippet = NodeLibrary['node_types'][number];

export type ShownAuthType = ReturnType<typeof shownAuthTypes>[number];

export type ShownConnection = ReturnType<typeof shownConnections>[number];

export type KeyOnPage = ReturnType<typeof shownKeys>[number];

export type NewKey = ReturnType<typeof madeJson>;

export type Billing = ReturnType<typeof billingOf>;

export type CreditShare = Billing['by_flow'][number];
