import * as z from 'zod';
import { credentialName } from '../options/names.ts';

const file = z.string({ error: 'expected the name of a PEM file' }).min(1, 'expected the name of a PEM file, found an empty text');

/** The option `client_cert` of a connection. */
export const clientCertificateOption = z.strictObject({
  cert: file.describe('the certificate, with those between it and the authority'),
  key: file.describe('its private key'),
  passphrase: z
    .strictObject({ credential: credentialName }, { error: 'expected { credential: NAME }' })
    .optional()
    .describe('for a key that is encrypted'),
});

/** The certificate by which a client proves who it is, as its connection names it. */
export interface ClientCertificate {
  /** The files of the certificate and its key, as they are written. */
  readonly cert: string;
  readonly key: string;
  /** The credential that holds the passphrase of the key; undefined if the key is not encrypted. */
  readonly passphrase: string | undefined;
  /** The flow file that relative names start from; undefined for a saved connection. */
  readonly flow: string | undefined;
}
