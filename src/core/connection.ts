import type { Auth } from './auth/auth.ts';
import type { ClientCertificate } from './auth/client-certificate.ts';
import type { Concurrency } from './options/amounts.ts';
import type { McpConnection } from './tools/tools.ts';

/** A saved or in-flow connection to an HTTP API. */
export interface HttpConnection {
  readonly name: string;
  /** True for a saved connection: all flows share it. */
  readonly isSaved: boolean;
  readonly baseUrl: string;
  readonly origin: string;
  /** The ways to sign a request; undefined if requests are not signed. */
  readonly auth: readonly Auth[] | undefined;
  /** The certificate that its server is shown, and no other; undefined for none. */
  readonly clientCert: ClientCertificate | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly intervalMs: number | undefined;
  readonly concurrency: Concurrency | undefined;
  readonly allowHttp: boolean;
  /** Credits for one call. */
  readonly credits: number;
  /** Path to the real cost in an answer; undefined when answers do not say. */
  readonly cost: string | undefined;
}

/** A saved or in-flow connection of either type. */
export type Connection = ({ readonly type: 'http' } & HttpConnection) | ({ readonly type: 'mcp' } & McpConnection);

/** The key of a connection's limit of calls in flight. All flows share that of a saved connection; each flow has its own for its own connections. */
export function connectionLimitKey({ name, isSaved }: Pick<Connection, 'name' | 'isSaved'>, flow: string): string {
  return isSaved ? `connection ${name}` : `connection ${name} of flow ${flow}`;
}
