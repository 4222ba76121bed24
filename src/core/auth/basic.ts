import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { toBase64 } from '../text/base64.ts';
import { credentialFor, credentialPart, defineAuthType, inHeader, type NeededCredential } from './auth-type.ts';

const options = {
  credential: credentialName,
  username: z.string().optional().describe('the user name; leave it out if the secret is username:password'),
};

const parts = {
  username: { question: 'User name (empty when the secret is username:password)', isOptional: true, example: 'me' },
  credential: credentialPart('the password', 'crm-login', 'login'),
};

interface Password {
  readonly credential: string;
  readonly username?: string;
}

const credentials = ({ credential, username }: Password, origin: string | undefined): readonly NeededCredential[] => [
  credentialFor(credential, origin, username === undefined),
];

const curlText = ({ username }: Password, variable: string) => [username === undefined ? '' : `${username}:`, { variable }];

/** A user name and a password (RFC 7617). */
export const basic = defineAuthType({
  type: 'basic',
  label: 'user name and password',
  options: z.strictObject({ type: z.literal('basic'), ...options }),
  parts,
  credentials,
  sign: ({ username }, secret) => inHeader('Authorization', `Basic ${toBase64(username === undefined ? secret : `${username}:${secret}`)}`),
  preview: () => inHeader('Authorization', 'Basic ***'),
  curl: (auth, variable) => ({ in: 'user', text: curlText(auth, variable) }),
});

/** A user name and a password, which are not sent themselves (RFC 7616). */
export const digest = defineAuthType({
  type: 'digest',
  label: 'user name and password, as Digest',
  options: z.strictObject({ type: z.literal('digest'), ...options }),
  parts,
  from: 'request',
  credentials,
  sign: (_auth, shown) => inHeader('Authorization', `Digest ${shown}`),
  curl: (auth, variable) => ({ in: 'user', options: ['digest'], text: curlText(auth, variable) }),
});
