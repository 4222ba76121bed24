import { type BinaryToTextEncoding, createHash, createHmac, randomBytes } from 'node:crypto';
import type { Auth } from '../../core/auth/auth.ts';
import { type HmacPiece, hmacPieces, type Placeholder } from '../../core/auth/hmac.ts';
import { withQuery } from '../../core/template/url.ts';
import {
  bodyBytes,
  type RequestSigner,
  refuseWrongClock,
  type SignedRequest,
  type SignerSecret,
  type SignerTools,
  sentHeaders,
  unusableSecret,
} from './request-signers.ts';

type Hmac = Extract<Auth, { type: 'hmac' }>;

const timestamps: Readonly<Record<Hmac['timestamp'], (ms: number) => string>> = {
  unix: (ms) => String(Math.floor(ms / 1000)),
  unix_ms: (ms) => String(ms),
  iso: (ms) => new Date(ms).toISOString(),
};

/** Signs with a hash-based message authentication code (RFC 2104) over a text that the flow describes. */
export function hmacSigner(auth: Hmac, { credential, text }: SignerSecret, tools: SignerTools): RequestSigner {
  const key = keyOf(auth, credential, text);
  const signed = hmacPieces(auth.of);
  const parts = { headers: templates(auth.headers), query: templates(auth.query) };
  const usesTime = [...signed, ...parts.headers, ...parts.query]
    .flat(2)
    .some((piece) => typeof piece === 'object' && piece.name === 'timestamp');
  return {
    async send(request, next) {
      const facts = { timestamp: timestamps[auth.timestamp](tools.wallNow()), nonce: randomBytes(16).toString('hex') };
      // A server checks the signature over the request that it receives. So the text that is signed includes the headers and parameters
      // that are added here, except those with the signature itself.
      const early = await filled(request, parts, facts, undefined);
      const before = { ...request, path: withQuery(request.path, early.query), headers: { ...request.headers, ...early.headers } };
      const mac = createHmac(auth.algorithm, key);
      for (const piece of signed) for await (const part of bytesOf(piece, before, facts)) mac.update(part);
      const signature = mac.digest(auth.encoding as BinaryToTextEncoding);
      const late = await filled(request, parts, facts, signature);
      const answer = await next({
        headers: { ...early.headers, ...late.headers },
        query: [early.query, late.query].filter(Boolean).join('&') || undefined,
        derived: [signature],
      });
      if (usesTime) refuseWrongClock(answer, credential, tools.wallNow());
      return answer;
    },
  };
}

function keyOf({ keyEncoding }: Hmac, credential: string, text: string): Buffer {
  if (keyEncoding === undefined) return Buffer.from(text);
  const isValid = keyEncoding === 'hex' ? /^(?:[\da-f]{2})+$/i : /^[A-Za-z\d+/_-]+={0,2}$/;
  if (!isValid.test(text.trim())) throw unusableSecret(credential, `is not written in ${keyEncoding}, as key_encoding says`);
  return Buffer.from(text.trim(), keyEncoding);
}

type Template = readonly [name: string, pieces: readonly HmacPiece[]];

function templates(written: Readonly<Record<string, string>>): readonly Template[] {
  return Object.entries(written).map(([name, value]) => [name, hmacPieces(value)]);
}

interface Facts {
  readonly timestamp: string;
  readonly nonce: string;
}

interface Filled {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string | undefined;
}

/** Fills in the parts that contain the signature, or those that do not, if `signature` is undefined. */
async function filled(
  request: SignedRequest,
  { headers, query }: { readonly headers: readonly Template[]; readonly query: readonly Template[] },
  facts: Facts,
  signature: string | undefined,
): Promise<Filled> {
  const textOf = async ([name, pieces]: Template): Promise<readonly [string, string][]> => {
    if (pieces.some((piece) => typeof piece === 'object' && piece.name === 'signature') !== (signature !== undefined)) return [];
    const chunks: Uint8Array[] = [];
    for (const piece of pieces) {
      if (typeof piece === 'object' && piece.name === 'signature') chunks.push(Buffer.from(signature as string));
      else for await (const part of bytesOf(piece, request, facts)) chunks.push(part);
    }
    return [[name, Buffer.concat(chunks).toString()]];
  };
  const all = async (parts: readonly Template[]) => (await Promise.all(parts.map(textOf))).flat();
  const parameters = (await all(query)).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return { headers: Object.fromEntries(await all(headers)), query: parameters.join('&') || undefined };
}

async function* bytesOf(piece: HmacPiece, request: SignedRequest, facts: Facts): AsyncGenerator<Uint8Array> {
  if (typeof piece === 'string') yield Buffer.from(piece);
  else if (piece.name === 'body') yield* bodyBytes(request);
  else if (piece.name === 'body_sha256') yield Buffer.from(await bodyHash('sha256', 'hex', request));
  else if (piece.name === 'body_md5_base64') yield Buffer.from(await bodyHash('md5', 'base64', request));
  else if (piece.name === 'header') yield Buffer.from(sentHeaders(request)[piece.of.toLowerCase()] ?? '');
  else yield Buffer.from(plainText(piece.name, request, facts));
}

async function bodyHash(algorithm: string, encoding: BinaryToTextEncoding, request: SignedRequest): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of bodyBytes(request)) hash.update(chunk);
  return hash.digest(encoding);
}

function plainText(name: Placeholder, { method, origin, path }: SignedRequest, facts: Facts): string {
  const [, plainPath = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(path) ?? [];
  switch (name) {
    case 'method':
      return method;
    case 'url':
      return origin + path;
    case 'host':
      return new URL(origin).host;
    case 'path':
      return plainPath;
    case 'path_and_query':
      return path;
    case 'query':
      return query;
    case 'timestamp':
      return facts.timestamp;
    case 'nonce':
      return facts.nonce;
    default:
      return '';
  }
}
