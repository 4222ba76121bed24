import * as z from 'zod';
import type { Auth } from './auth/auth.ts';
import type { Concurrency } from './options/amounts.ts';
import { credentialName } from './options/names.ts';
import type { McpConnection } from './tools.ts';

/** A connection to an HTTP API, which is either saved or defined in a flow. */
export interface HttpConnection {
  readonly name: string;
  /** True for a saved connection, which all flows share. */
  readonly isSaved: boolean;
  readonly baseUrl: string;
  readonly origin: string;
  /** The ways to sign a request; undefined if requests are not signed. */
  readonly auth: readonly Auth[] | undefined;
  /** The client certificate to present to the server; undefined if the connection has none. */
  readonly clientCert: ClientCertificate | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly intervalMs: number | undefined;
  readonly concurrency: Concurrency | undefined;
  readonly allowHttp: boolean;
  /** The price of one call in credits (the unit in which runs are limited). */
  readonly credits: number;
  /** The path of the actual cost in a response; undefined if responses do not state the cost. */
  readonly cost: string | undefined;
  /** The charset of answers that do not state one; undefined for UTF-8. */
  readonly charset: string | undefined;
}

/** A connection to an HTTP API or an MCP server, which is either saved or defined in a flow. */
export type Connection = ({ readonly type: 'http' } & HttpConnection) | ({ readonly type: 'mcp' } & McpConnection);

/**
 * Returns the key of a connection's limit of calls in flight. All flows share the limit of a saved connection. If the connection is defined
 * in a flow, each flow has a separate limit.
 */
export function connectionLimitKey({ name, isSaved }: Pick<Connection, 'name' | 'isSaved'>, flow: string): string {
  return isSaved ? `connection ${name}` : `connection ${name} of flow ${flow}`;
}

const file = z.string({ error: 'expected the name of a PEM file' }).min(1, 'expected the name of a PEM file, found an empty string');

/** The option `client_cert` of a connection. */
export const clientCertificateOption = z.strictObject({
  cert: file.describe('PEM file with the certificate, followed by any intermediate certificates'),
  key: file.describe('PEM file with the private key of the certificate'),
  passphrase: z
    .strictObject({ credential: credentialName }, { error: 'expected { credential: NAME }' })
    .optional()
    .describe('only for an encrypted key: its passphrase, as { credential: NAME }'),
});

/** The client certificate that a connection presents to its server. */
export interface ClientCertificate {
  /** The paths of the certificate file and of the key file, as written in the connection. */
  readonly cert: string;
  readonly key: string;
  /** The credential that contains the passphrase of the key; undefined if the key is not encrypted. */
  readonly passphrase: string | undefined;
  /**
   * The path of the flow file. Relative paths of the certificate and key start from the file's folder. It is undefined for a saved
   * connection.
   */
  readonly flow: string | undefined;
}
