import { crc32 } from 'node:zlib';
import type { HttpResponse } from '../../core/ports.ts';

/** An answer in the cache. */
export interface CachedAnswer {
  readonly cachedAtMs: number;
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  readonly body: Uint8Array;
  /** The URL to which redirects have led: relative links in the answer start there. Undefined without a redirect. */
  readonly redirectedTo?: HttpResponse['redirectedTo'];
}

/** An answer to cache, and the time at which it expires. */
export interface NewAnswer extends CachedAnswer {
  readonly expiresAtMs: number;
}

/** A checksum and the packed answer. */
export type AnswerRow = readonly [number, Uint8Array];

type Head = readonly [number, number, CachedAnswer['headers'], CachedAnswer['redirectedTo']?];

const lengthBytes = 4;

/** Packs an answer into bytes: the length of the head, the head, the body. */
export function packAnswer({ cachedAtMs, status, headers, body, redirectedTo }: CachedAnswer): Buffer {
  const head = Buffer.from(JSON.stringify([cachedAtMs, status, headers, ...(redirectedTo ? [redirectedTo] : [])]));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, body]);
}

/** Unpacks the answer of a key. Throws a damage error if it belongs to another key or was changed. */
export function unpackAnswer(key: Uint8Array, [checksum, packed]: AnswerRow): CachedAnswer {
  if (answerChecksum(key, packed) !== checksum) throw damageError();
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const bodyAt = lengthBytes + bytes.readUInt32LE();
  const [cachedAtMs, status, headers, redirectedTo] = JSON.parse(bytes.toString('utf8', lengthBytes, bodyAt)) as Head;
  return { cachedAtMs, status, headers, body: bytes.subarray(bodyAt), ...(redirectedTo && { redirectedTo }) };
}

/** The checksum of an answer together with its key: a damaged index may lead to the answer of another key. */
export function answerChecksum(key: Uint8Array, packed: Uint8Array): number {
  return crc32(packed, crc32(key));
}

/** The error for a cache file whose bytes have changed since they were written. */
export function damageError(): Error {
  return Object.assign(new Error('what is in it is not what was written'), { code: 'SQLITE_CORRUPT' });
}
