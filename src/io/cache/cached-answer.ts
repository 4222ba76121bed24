import { crc32 } from 'node:zlib';
import type { HttpResponse } from '../../core/ports.ts';

/** An answer as it is kept. */
export interface KeptAnswer {
  readonly keptAtMs: number;
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  readonly body: Uint8Array;
  /** Where redirects have led to: relative links in it start there. Absent without one. */
  readonly redirectedTo?: HttpResponse['redirectedTo'];
}

/** An answer that is to be kept, and until when. */
export interface NewAnswer extends KeptAnswer {
  readonly endMs: number;
}

/** What stands in the file: a checksum and the packed answer. */
export type Row = readonly [number, Uint8Array];

type Head = readonly [number, number, KeptAnswer['headers'], KeptAnswer['redirectedTo']?];

/** An answer as bytes: the length of the head, the head, the body. */
export function packedOf({ keptAtMs, status, headers, body, redirectedTo }: KeptAnswer): Buffer {
  const head = Buffer.from(JSON.stringify([keptAtMs, status, headers, ...(redirectedTo ? [redirectedTo] : [])]));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, body]);
}

const lengthBytes = 4;

/** The answer that was kept under a key. Throws damage. */
export function answerOf(key: Uint8Array, [checksum, packed]: Row): KeptAnswer {
  if (checksumOf(key, packed) !== checksum) throw damage();
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const bodyAt = lengthBytes + bytes.readUInt32LE();
  const [keptAtMs, status, headers, redirectedTo] = JSON.parse(bytes.toString('utf8', lengthBytes, bodyAt)) as Head;
  return { keptAtMs, status, headers, body: bytes.subarray(bodyAt), ...(redirectedTo && { redirectedTo }) };
}

/** What tells that an answer is what was kept under its key: a damaged index may lead to another answer. */
export function checksumOf(key: Uint8Array, packed: Uint8Array): number {
  return crc32(packed, crc32(key));
}

/** The error of a file that is not what was written. */
export function damage(): Error {
  return Object.assign(new Error('what is in it is not what was written'), { code: 'SQLITE_CORRUPT' });
}
