import * as z from 'zod';
import { credentialName } from '../options/names.ts';

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
