import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { credentialFor, defineAuthType } from './auth-type.ts';

const part = z.string().regex(/^[A-Za-z\d-]+$/, 'expected letters, digits and dashes');

/** A signature for AWS services (Signature Version 4). */
export const awsSigv4 = defineAuthType({
  type: 'aws_sigv4',
  label: 'AWS (Signature Version 4)',
  options: z.strictObject({
    type: z.literal('aws_sigv4'),
    credential: credentialName.describe(
      'the name of the credential that holds ACCESS_KEY_ID:SECRET_ACCESS_KEY, the same with :SESSION_TOKEN, or the JSON that aws configure export-credentials prints',
    ),
    service: part.optional().describe('the service, such as dynamodb (default: the one in the host)'),
    region: part.optional().describe('the region, such as eu-central-1 (default: the one in the host)'),
  }),
  parts: {
    service: { question: 'Service, such as dynamodb (empty if the host says it)', isOptional: true, example: 'dynamodb' },
    region: { question: 'Region, such as eu-central-1 (empty if the host says it)', isOptional: true, example: 'eu-central-1' },
    credential: {
      question: 'Name of the credential that holds ACCESS_KEY_ID:SECRET_ACCESS_KEY',
      isCredential: true,
      example: 'aws',
      suggested: (connection) => `${connection}-aws`,
    },
  },
  from: 'request',
  credentials: ({ credential }, origin) => [credentialFor(credential, origin)],
  sign: (_auth, shown) => ({ headers: { 'X-Amz-Date': shown, Authorization: `AWS4-HMAC-SHA256 ${shown}` } }),
  curl: ({ service, region }, variable) => ({
    in: 'user',
    options: [
      'aws-sigv4',
      `aws:amz${region === undefined ? '' : `:${region}`}${service === undefined || region === undefined ? '' : `:${service}`}`,
    ],
    text: [{ variable }],
    note: `curl signs with ACCESS_KEY_ID:SECRET_ACCESS_KEY in ${variable}; for a session token, add -H "x-amz-security-token: TOKEN"`,
  }),
});
