import { type BinaryToTextEncoding, createHash } from 'node:crypto';
import { type Auth, signedFrom } from '../../core/auth/auth.ts';
import type { Signature } from '../../core/auth/auth-type.ts';
import { durationText } from '../../core/duration.ts';
import { CredentialRefused, LimitReached } from '../../core/failure.ts';
import { withQuery } from '../../core/template/url.ts';
import type { WireRequest } from '../exchange.ts';
import type { FormUpload } from '../transfers/form-upload.ts';

/** The part of a request that signatures depend on. It is the request as it is sent, apart from the headers that the connection needs. */
export type SignedRequest = Pick<WireRequest, 'method' | 'origin' | 'path' | 'headers' | 'body' | 'encode'>;

/** The part of an answer that tells a signer that it has to sign differently. */
export interface SignedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  header(name: string): string | undefined;
}

/**
 * Signs each attempt of a request anew, and each request of a redirect. A signer may send the request again, for example with the nonce of
 * a new challenge. That is part of the same attempt, so it counts neither as a retry nor as a call.
 */
export interface RequestSigner {
  /** `next` sends the request with the signature. Throws LimitReached if the server refuses the secret, and a Failure if nothing can be sent. */
  send<Answer extends SignedAnswer>(request: SignedRequest, next: (signature: Signature) => Promise<Answer>): Promise<Answer>;
}

export interface SignerTools {
  /** Time in ms since 1970. */
  wallNow(): number;
  /** Masks a text in all output from now on. */
  secret(text: string, slot?: string): void;
}

export interface SignerSecret {
  readonly credential: string;
  readonly text: string;
  /** The scheme, host and port to which the secret's signatures are sent. */
  readonly origin: string;
}

export function signsRequests(auth: Auth): boolean {
  return signedFrom(auth) === 'request';
}

/** The signature's header replaces a header of the same name from the flow. */
export function withSignature<Request extends SignedRequest>(request: Request, { headers, query }: Signature): Request {
  return { ...request, path: withQuery(request.path, query), headers: Object.assign({}, request.headers, headers) };
}

/** Sends the request through all signers. The first of them is the outermost, so the last one signs what the others have added. */
export function sendSigned<Request extends SignedRequest, Answer extends SignedAnswer>(
  request: Request,
  signers: readonly RequestSigner[],
  send: (request: Request, derived: readonly string[]) => Promise<Answer>,
  derived: readonly string[] = [],
): Promise<Answer> {
  const [signer, ...others] = signers;
  if (!signer) return send(request, derived);
  return signer.send(request, (signature) =>
    sendSigned(withSignature(request, signature), others, send, [...derived, ...(signature.derived ?? [])]),
  );
}

/** The names in lower case, as they are sent. Later headers replace earlier ones. */
export function sentHeaders({ headers, origin, body }: SignedRequest): Record<string, string> {
  const sent: Record<string, string> = { host: new URL(origin).host };
  for (const [name, value] of Object.entries(headers)) sent[name.toLowerCase()] = value;
  if (typeof body === 'object') sent['content-type'] = body.contentType;
  return sent;
}

/** Takes the bytes of the body as they are sent. Reads the files of a form, whose bytes are the same for all attempts. */
export function eachChunk({ body, encode }: SignedRequest, take: (chunk: Uint8Array) => void): Promise<void> | undefined {
  if (typeof body === 'object') return eachUploaded(body, take);
  if (body !== undefined) take(encode ? encode(body) : Buffer.from(body));
  return undefined;
}

async function eachUploaded(body: FormUpload, take: (chunk: Uint8Array) => void): Promise<void> {
  const upload = await body.open();
  try {
    for await (const chunk of upload.body()) take(chunk as Buffer);
  } finally {
    await upload.close();
  }
}

export async function bodyBytes(request: SignedRequest): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  await eachChunk(request, (chunk) => chunks.push(chunk));
  return Buffer.concat(chunks);
}

export async function bodyHash(request: SignedRequest, algorithm: string, encoding: BinaryToTextEncoding): Promise<string> {
  const hash = createHash(algorithm);
  await eachChunk(request, (chunk) => hash.update(chunk));
  return hash.digest(encoding);
}

const toRenew = (credential: string) => ({ code: 'credential', details: { credential, remedy: 'renew' } }) as const;

/** No other request could succeed with the credential. `isSent` is false if a login was refused, before the request was sent. */
export function refusedCredential(credential: string, message: string, isSent: boolean): CredentialRefused {
  return new CredentialRefused(message, isSent, toRenew(credential));
}

/** The secret cannot be used to sign. Nothing has been sent. */
export function uselessCredential(credential: string, message: string): LimitReached {
  return new LimitReached(message, 'refused-credential', toRenew(credential));
}

export function unusableSecret(credential: string, problem: string): LimitReached {
  return uselessCredential(credential, `the credential "${credential}" ${problem}`);
}

/** Servers accept signatures and assertions of clocks that differ by five minutes or more. */
const maxSkewMs = 240_000;

/** The end of a sentence about a refusal, if the server's clock shows that this machine's is wrong. */
export function clockProblem(date: string | undefined, nowMs: number): string | undefined {
  const skewMs = nowMs - Date.parse(date ?? '');
  if (!(Math.abs(skewMs) > maxSkewMs)) return undefined;
  const direction = skewMs > 0 ? 'ahead of' : 'behind';
  const by = durationText(Math.round(Math.abs(skewMs) / 60_000) * 60_000);
  return `the clock of this machine is ${by} ${direction} the server's: correct it`;
}

export function timedSigner(
  credential: string,
  tools: SignerTools,
  sign: (request: SignedRequest, nowMs: number) => Promise<Signature>,
): RequestSigner {
  return {
    async send(request, next) {
      const answer = await next(await sign(request, tools.wallNow()));
      refuseWrongClock(answer, credential, tools.wallNow());
      return answer;
    },
  };
}

/** Throws LimitReached if a signature with a time was refused, and the clock of this machine is wrong: no other request would succeed. */
export function refuseWrongClock({ status, header }: SignedAnswer, credential: string, nowMs: number): void {
  if (![400, 401, 403].includes(status)) return;
  const problem = clockProblem(header('date'), nowMs);
  if (problem === undefined) return;
  throw new LimitReached(
    `the server refuses the signature with the credential "${credential}" (${status}), and ${problem}`,
    'refused-credential',
  );
}
