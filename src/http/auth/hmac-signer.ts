import { type BinaryToTextEncoding, createHmac, createSecretKey, type Hmac, randomBytes } from 'node:crypto';
import type { Auth } from '../../core/auth/auth.ts';
import type { Signature } from '../../core/auth/auth-type.ts';
import { type HmacPiece, hmacPieces, type Placeholder } from '../../core/auth/hmac.ts';
import { withQuery } from '../../core/template/url.ts';
import {
  bodyBytes,
  bodyHash,
  eachChunk,
  type RequestSigner,
  type SignedRequest,
  type SignerSecret,
  type SignerTools,
  sentHeaders,
  timedSigner,
  unusableSecret,
} from './request-signers.ts';

type HmacAuth = Extract<Auth, { type: 'hmac' }>;

const timestamps: Readonly<Record<HmacAuth['timestamp'], (ms: number) => string>> = {
  unix: (ms) => String(Math.floor(ms / 1000)),
  unix_ms: (ms) => String(ms),
  iso: (ms) => new Date(ms).toISOString(),
};

/** Signs with a hash-based message authentication code (RFC 2104) over a text that the flow describes. */
export function hmacSigner(auth: HmacAuth, { credential, text }: SignerSecret, tools: SignerTools): RequestSigner {
  const key = createSecretKey(keyOf(auth, credential, text));
  const signed = hmacPieces(auth.of);
  const parts = { headers: templates(auth.headers), query: templates(auth.query) };
  const added = new Set([...parts.headers, ...parts.query].flatMap(([, pieces]) => pieces).map(nameOf));
  const named = new Set([...added, ...signed.map(nameOf)]);
  const sign = async (request: SignedRequest, nowMs: number): Promise<Signature> => {
    const facts = {
      timestamp: timestamps[auth.timestamp](nowMs),
      nonce: named.has('nonce') ? randomBytes(16).toString('hex') : '',
      body: added.has('body') ? (await bodyBytes(request)).toString() : '',
      body_sha256: named.has('body_sha256') ? await bodyHash(request, 'sha256', 'hex') : '',
      body_md5_base64: named.has('body_md5_base64') ? await bodyHash(request, 'md5', 'base64') : '',
    };
    // A server checks the signature over the request that it receives. So the text that is signed includes the headers and parameters
    // that are added here, except those with the signature itself.
    const early = filled(request, parts, facts);
    const { method, origin, body, encode } = request;
    const headers = named.has('header') ? { ...request.headers, ...early.headers } : request.headers;
    const before: SignedRequest = { method, origin, path: withQuery(request.path, early.query), headers, body, encode };
    const mac = createHmac(auth.algorithm, key);
    for (const piece of signed) {
      const reading = addPiece(mac, piece, before, facts);
      if (reading) await reading;
    }
    const signature = mac.digest(auth.encoding as BinaryToTextEncoding);
    const late = filled(request, parts, { ...facts, signature });
    return {
      headers: { ...early.headers, ...late.headers },
      query: [early.query, late.query].filter(Boolean).join('&') || undefined,
      derived: [signature],
    };
  };
  if (named.has('timestamp')) return timedSigner(credential, tools, sign);
  return { send: async (request, next) => next(await sign(request, tools.wallNow())) };
}

function keyOf({ keyEncoding }: HmacAuth, credential: string, text: string): Buffer {
  if (keyEncoding === undefined) return Buffer.from(text);
  const isValid = keyEncoding === 'hex' ? /^(?:[\da-f]{2})+$/i : /^[A-Za-z\d+/_-]+={0,2}$/;
  if (!isValid.test(text.trim())) throw unusableSecret(credential, `is not written in ${keyEncoding}, as key_encoding says`);
  return Buffer.from(text.trim(), keyEncoding);
}

type Template = readonly [name: string, pieces: readonly HmacPiece[]];

function templates(written: Readonly<Record<string, string>>): readonly Template[] {
  return Object.entries(written).map(([name, value]) => [name, hmacPieces(value)]);
}

/** Values of placeholders that the templates contain. The signature is there once it is computed. */
type Facts = Readonly<Partial<Record<Placeholder, string>>>;

interface FilledTemplate {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string | undefined;
}

/** Fills in the parts that contain the signature, or those that do not, if it is not computed yet. */
function filled(
  request: SignedRequest,
  { headers, query }: { readonly headers: readonly Template[]; readonly query: readonly Template[] },
  facts: Facts,
): FilledTemplate {
  const own = (parts: readonly Template[]) =>
    parts
      .filter(([, pieces]) => pieces.map(nameOf).includes('signature') === (facts.signature !== undefined))
      .map(([name, pieces]) => [name, textOfAll(pieces, request, facts)] as const);
  const parameters = own(query).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return { headers: Object.fromEntries(own(headers)), query: parameters.join('&') || undefined };
}

function addPiece(mac: Hmac, piece: HmacPiece, request: SignedRequest, facts: Facts): Promise<void> | undefined {
  if (nameOf(piece) === 'body') return eachChunk(request, (chunk) => mac.update(chunk));
  mac.update(textOf(piece, request, facts));
  return undefined;
}

function nameOf(piece: HmacPiece): Placeholder | undefined {
  return typeof piece === 'object' ? piece.name : undefined;
}

function textOfAll(pieces: readonly HmacPiece[], request: SignedRequest, facts: Facts): string {
  return pieces.map((piece) => textOf(piece, request, facts)).join('');
}

function textOf(piece: HmacPiece, request: SignedRequest, facts: Facts): string {
  if (typeof piece === 'string') return piece;
  const { method, origin, path } = request;
  const queryAt = path.includes('?') ? path.indexOf('?') : path.length;
  switch (piece.name) {
    case 'method':
      return method;
    case 'url':
      return origin + path;
    case 'host':
      return new URL(origin).host;
    case 'path':
      return path.slice(0, queryAt);
    case 'path_and_query':
      return path;
    case 'query':
      return path.slice(queryAt + 1);
    case 'header':
      return sentHeaders(request)[piece.of.toLowerCase()] ?? '';
    default:
      return facts[piece.name] ?? '';
  }
}
