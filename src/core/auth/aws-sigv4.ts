import * as z from 'zod';
import { credentialName } from '../options/names.ts';
import { credentialFor, credentialPart, defineAuthType } from './auth-type.ts';

const part = z.string().regex(/^[A-Za-z\d-]+$/, 'expected letters, digits and dashes');

type SigningScope = Partial<Record<'service' | 'region', string>>;

/** Hosts of AWS end in one of these (docs.aws.amazon.com/general/latest/gr/rande.html). */
const awsHost = /^(.+)\.(?:amazonaws\.(com|com\.cn|eu)|api\.aws|on\.aws)$/;

const regionName = /^(?:s3-)?([a-z]{2,4}(?:-[a-z]+)+-\d+)$/;

/** Names of services in hosts that differ from their names in signatures, apart from `-fips` and the other services of S3. */
const signingNames: Readonly<Record<string, string>> = {
  email: 'ses',
  'lambda-url': 'lambda',
  'appsync-api': 'appsync',
  'bedrock-runtime': 'bedrock',
  'bedrock-agent': 'bedrock',
  'bedrock-agent-runtime': 'bedrock',
  's3-control': 's3',
  's3-accesspoint': 's3',
  's3-accelerate': 's3',
  's3-external-1': 's3',
};

/** The service and region that the host names, such as `dynamodb.eu-central-1.amazonaws.com` or `s3.amazonaws.com`. */
function scopeIn(hostname: string): SigningScope {
  const [, name, domain] = awsHost.exec(hostname) ?? [];
  if (name === undefined) return {};
  const all = name.split('.').filter((label) => label !== 'dualstack' && label !== 'vpce');
  // The label before the one of S3 is the name of a bucket, which can look like a region, as in `my-bucket-1.s3.amazonaws.com`.
  const labels = all.slice(
    Math.max(
      0,
      all.findLastIndex((label) => /^s3(?:-|$)/.test(label)),
    ),
  );
  const place = labels.findLast((label) => regionName.test(label));
  const label = place?.startsWith('s3-')
    ? 's3'
    : labels
        .filter((one) => one !== place)
        .at(-1)
        ?.replace(/-fips$|^fips-/, '');
  const service = label === undefined ? undefined : (signingNames[label] ?? label);
  // Hosts without a region are those of us-east-1, apart from S3 Transfer Acceleration, which hides the region of a bucket.
  const isGlobal = domain === 'com' && label !== 's3-accelerate';
  return { service, region: place === undefined ? (isGlobal ? 'us-east-1' : undefined) : regionName.exec(place)?.[1] };
}

/** For which service and region to sign. `missing` names what neither the flow nor the host says, in words for a message. */
export function awsScope(
  { service, region }: SigningScope,
  origin: string,
): SigningScope & { readonly missing?: string; readonly options?: readonly string[] } {
  const { hostname } = new URL(origin);
  const found = scopeIn(hostname);
  const scope = { service: service ?? found.service, region: region ?? found.region };
  const examples = { service: 'dynamodb', region: 'eu-central-1' };
  const missing = (['service', 'region'] as const).filter((option) => scope[option] === undefined);
  if (missing.length === 0) return scope;
  const [it, lines] = [missing.length > 1 ? 'them' : 'it', missing.map((option) => `${option}: ${examples[option]}`).join(', ')];
  const message = `expected ${missing.join(' and ')}, because the host ${hostname} does not contain ${it}\nadd ${it} to auth, for example: ${lines}`;
  return { ...scope, missing: message, options: missing };
}

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
    credential: credentialPart('ACCESS_KEY_ID:SECRET_ACCESS_KEY', 'aws', 'aws'),
  },
  problem(auth, { origin }) {
    const { missing: message, options: missing } = origin === undefined ? {} : awsScope(auth, origin);
    return message === undefined ? undefined : { option: auth.region === undefined ? 'region' : 'service', message, missing };
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
