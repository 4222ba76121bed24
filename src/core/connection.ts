import * as z from 'zod';
import type { Auth } from './auth/auth.ts';
import type { Concurrency } from './options/amounts.ts';
import { credentialName } from './options/names.ts';
import type { McpConnection } from './tools.ts';

export interface HttpConnection {
  readonly name: string;
  /** True for a saved connection, which all flows share. */
  readonly isSaved: boolean;
  readonly baseUrl: string;
  readonly origin: string;
  /** Undefined if requests are not signed. */
  readonly auth: readonly Auth[] | undefined;
  readonly clientCert: ClientCertificate | undefined;
  /** True if HTTP/2 is used where the server offers it. */
  readonly http2: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly intervalMs: number | undefined;
  readonly concurrency: Concurrency | undefined;
  readonly allowHttp: boolean;
  /** The price of one call in credits. */
  readonly credits: number;
  /** The path of the actual cost in a response. */
  readonly cost: string | undefined;
  /** The charset of answers that do not state one; undefined for UTF-8. */
  readonly charset: string | undefined;
}

export type Connection = ({ readonly type: 'http' } & HttpConnection) | ({ readonly type: 'mcp' } & McpConnection);

/** All flows share the limit of a saved connection. A connection in a flow has a separate limit for each flow. */
export function connectionLimitKey({ name, isSaved }: Pick<Connection, 'name' | 'isSaved'>, flow: string): string {
  return isSaved ? `connection ${name}` : `connection ${name} of flow ${flow}`;
}

const file = z.string({ error: 'expected the name of a PEM file' }).min(1, 'expected the name of a PEM file, found an empty string');

export const clientCertificateOption = z.strictObject({
  cert: file.describe('PEM file with the certificate, followed by any intermediate certificates'),
  key: file.describe('PEM file with the private key of the certificate'),
  passphrase: z
    .strictObject({ credential: credentialName }, { error: 'expected { credential: NAME }' })
    .optional()
    .describe('only for an encrypted key: its passphrase, as { credential: NAME }'),
});

export interface ClientCertificate {
  /** The paths are as written in the connection. */
  readonly cert: string;
  readonly key: string;
  /** The credential that contains the passphrase of the key; undefined if the key is not encrypted. */
  readonly passphrase: string | undefined;
  /** Relative paths of the certificate and key start from the flow file's folder. Undefined for a saved connection. */
  readonly flow: string | undefined;
}
