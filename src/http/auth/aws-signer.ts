import { RequestSigner as Aws4 } from 'aws4';
import type { Auth } from '../../core/auth/auth.ts';
import { awsScope } from '../../core/auth/aws-sigv4.ts';
import { LimitReached } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import {
  bodyBytes,
  bodyHash,
  type RequestSigner,
  type SignedRequest,
  type SignerSecret,
  type SignerTools,
  sentHeaders,
  timedSigner,
  unusableSecret,
  uselessCredential,
} from './request-signers.ts';

type AwsSigv4 = Extract<Auth, { type: 'aws_sigv4' }>;

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** In ms since 1970; undefined if the credentials do not expire. */
  readonly expiresMs: number | undefined;
}

/** Signs with Signature Version 4. Servers also accept the hash of a body in a header, which must then be signed as well. */
export function awsSigner(auth: AwsSigv4, { credential, text, origin }: SignerSecret, tools: SignerTools): RequestSigner {
  const credentials = credentialsIn(text, credential);
  for (const secret of [credentials.secretAccessKey, credentials.sessionToken]) if (secret !== undefined) tools.secret(secret);
  const scope = scopeOf(auth, origin);
  return timedSigner(credential, tools, async (request, nowMs) => {
    refuseExpired(credentials, credential, nowMs);
    const headers = await signedHeaders(request, credentials, { ...scope, nowMs });
    return { headers, derived: [headers.Authorization?.slice(-64) ?? ''] };
  });
}

function credentialsIn(text: string, credential: string): AwsCredentials {
  const expected = 'expected ACCESS_KEY_ID:SECRET_ACCESS_KEY, or the JSON that aws configure export-credentials prints';
  if (/^\s*\{/.test(text)) {
    const found = Object(orUndefined(() => JSON.parse(text) as unknown)) as Record<string, unknown>;
    // The answers of aws sts assume-role and aws iam create-access-key have them one level deeper.
    const { AccessKeyId, SecretAccessKey, SessionToken, Token, Expiration } = Object(found.Credentials ?? found.AccessKey ?? found);
    if (typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string')
      throw unusableSecret(credential, `is a JSON document without AccessKeyId and SecretAccessKey: ${expected}`);
    const token = SessionToken ?? Token;
    const expiresMs = Date.parse(String(Expiration ?? ''));
    return {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      sessionToken: typeof token === 'string' && token !== '' ? token : undefined,
      expiresMs: Number.isNaN(expiresMs) ? undefined : expiresMs,
    };
  }
  const [, accessKeyId, secretAccessKey, sessionToken] = /^([^:\s]+):([^:\s]+)(?::(\S+))?$/.exec(text.trim()) ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw unusableSecret(credential, `cannot sign requests to AWS: ${expected}`);
  return { accessKeyId, secretAccessKey, sessionToken, expiresMs: undefined };
}

function refuseExpired({ expiresMs }: AwsCredentials, credential: string, nowMs: number): void {
  if (expiresMs === undefined || expiresMs > nowMs) return;
  const at = new Date(expiresMs).toISOString().replace('.000', '');
  const advice = 'store new ones, or let a command print them: aws configure export-credentials';
  throw uselessCredential(credential, `the AWS credentials in "${credential}" expired at ${at}\n${advice}`);
}

/** Throws LimitReached if neither the flow nor the host says for which service and region to sign: the host can depend on the record. */
function scopeOf(auth: AwsSigv4, origin: string): Pick<CredentialScope, 'service' | 'region'> {
  const { service = '', region = '', missing } = awsScope(auth, origin);
  if (missing !== undefined) throw new LimitReached(`auth of type aws_sigv4: ${missing}`, 'refused-credential');
  return { service, region };
}

interface CredentialScope {
  readonly service: string;
  readonly region: string;
  readonly nowMs: number;
}

async function signedHeaders(
  request: SignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { service, region, nowMs }: CredentialScope,
): Promise<Record<string, string>> {
  const added: Record<string, string> = {
    'X-Amz-Date': new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
  };
  let body: Buffer | undefined;
  if (typeof request.body === 'object' && service === 's3') added['X-Amz-Content-Sha256'] = 'UNSIGNED-PAYLOAD';
  else if (typeof request.body === 'object') added['X-Amz-Content-Sha256'] = await bodyHash(request, 'sha256', 'hex');
  else {
    body = request.body === undefined ? undefined : await bodyBytes(request);
    if (service === 's3') added['X-Amz-Content-Sha256'] = await bodyHash(request, 'sha256', 'hex');
  }
  const { 'x-amz-date': _date, authorization: _old, ...headers } = sentHeaders(request);
  const wanted = {
    ...{ method: request.method, path: pathFor(service, request.path), service, region },
    headers: { ...headers, ...added },
    // aws4 would sign a content type that it adds by itself, and the length, which proxies may change.
    extraHeadersToIgnore: { 'content-length': true, ...(headers['content-type'] === undefined && { 'content-type': true }) },
  };
  const signer = new Aws4({ ...wanted, body }, { accessKeyId, secretAccessKey, sessionToken });
  return { ...added, Authorization: (signer.sign().headers as Record<string, string>).Authorization as string };
}

/** In paths of S3, aws4 reads a plus sign as a space. */
function pathFor(service: string, path: string): string {
  if (service !== 's3') return path;
  const [, plain = '', query = ''] = /^([^?]*)(.*)$/s.exec(path) ?? [];
  return plain.replaceAll('+', '%2B') + query;
}
