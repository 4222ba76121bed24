import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import { byteSize } from '../../core/options/amounts.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { homeFolder } from '../../files/home.ts';

export interface CachedAnswer {
  readonly cachedAtMs: number;
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  readonly body: Uint8Array;
  /** The URL after all redirects. Relative links in the response are resolved against it. */
  readonly redirectedTo?: HttpResponse['redirectedTo'];
  /** Undefined for an answer that an older version has cached. */
  readonly arrival?: HttpResponse['arrival'];
}

export interface NewAnswer extends CachedAnswer {
  readonly expiresAtMs: number;
}

/** A row of the cache file, which contains the response in binary form and its checksum. */
export type AnswerRow = readonly [number, Uint8Array];

type StoredHead = readonly [number, number, CachedAnswer['headers'], (CachedAnswer['redirectedTo'] | null)?, CachedAnswer['arrival']?];

const lengthBytes = 4;

/** The length of the head, the head as JSON, and the body. */
export function packAnswer({ cachedAtMs, status, headers, body, redirectedTo, arrival }: CachedAnswer): Buffer {
  const head = Buffer.from(JSON.stringify([cachedAtMs, status, headers, redirectedTo ?? null, arrival]));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, body]);
}

/** Throws a damage error if the response was stored for a different key or has been changed. */
export function unpackAnswer(key: Uint8Array, [checksum, packed]: AnswerRow): CachedAnswer {
  if (answerChecksum(key, packed) !== checksum) throw damageError();
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const bodyAt = lengthBytes + bytes.readUInt32LE();
  const [cachedAtMs, status, headers, redirectedTo, arrival] = JSON.parse(bytes.toString('utf8', lengthBytes, bodyAt)) as StoredHead;
  return {
    cachedAtMs,
    status,
    headers,
    body: bytes.subarray(bodyAt),
    redirectedTo: redirectedTo ?? undefined,
    arrival: arrival ?? undefined,
  };
}

/** Includes the key, to detect a damaged index that returns a different key's response. */
export function answerChecksum(key: Uint8Array, packed: Uint8Array): number {
  return crc32(packed, crc32(key));
}

export function damageError(): Error {
  return Object.assign(new Error('its content is not what was written'), { code: 'SQLITE_CORRUPT' });
}

export function cachePath(environment: NodeJS.ProcessEnv): string {
  return join(homeFolder(environment), 'cache.db');
}

const defaultMaxBytes = 500e6;

/** The value of AUTOMATE_CACHE_MAX, or 500 MB. Throws an AutomateError (`usage`) if the variable is not a size. */
export function maxCacheBytes({ AUTOMATE_CACHE_MAX: written }: NodeJS.ProcessEnv): number {
  if (written === undefined || written === '') return defaultMaxBytes;
  const size = byteSize.safeParse(written);
  if (size.success) return size.data;
  throw new AutomateError('usage', `AUTOMATE_CACHE_MAX: ${size.error.issues[0]?.message}`);
}
