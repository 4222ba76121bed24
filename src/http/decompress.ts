import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  gunzip,
  gunzipSync,
  inflate,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  type ZlibOptions,
} from 'node:zlib';
import { Failure } from '../core/failure.ts';

interface Decompressor {
  readonly sync: (body: Buffer, options: ZlibOptions) => Buffer;
  readonly async: (body: Buffer, options: ZlibOptions) => Promise<Buffer>;
}

const gzip: Decompressor = { sync: gunzipSync, async: promisify<Buffer, ZlibOptions, Buffer>(gunzip) };
const zlib: Decompressor = { sync: inflateSync, async: promisify<Buffer, ZlibOptions, Buffer>(inflate) };
const raw: Decompressor = { sync: inflateRawSync, async: promisify<Buffer, ZlibOptions, Buffer>(inflateRaw) };
const brotli: Decompressor = { sync: brotliDecompressSync, async: promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress) };

export const acceptEncoding = 'gzip, deflate, br';

/** Maximum number of compression methods of one body. No real server uses more, so a body with more is treated as an attack. */
const maxEncodings = 5;

/** Bodies up to this size are decompressed in this thread. Passing them to another thread would take longer. */
const syncBytes = 32 * 1024;

/**
 * Servers also write into Content-Encoding what is no compression: the charset, the header of a mail (`8bit`), or how the file was once
 * uploaded to S3 (`aws-chunked`).
 */
const noCompression = /^(?:identity|none|aws-chunked|chunked|binary|[78]bit|utf-?(?:8|16)|us-ascii|iso-8859-\d+|windows-\d+)$/;

/** Returns the compressions in a Content-Encoding header, in the order in which they were applied. */
export function compressionsIn(encodings: string): string[] {
  return (encodings.toLowerCase().match(/[^\s,]+/g) ?? []).filter((name) => !noCompression.test(name));
}

/** `status` is part of the failure if decompression fails. */
interface BodyLimits {
  readonly maxBytes: number;
  readonly status: number;
}

/** Throws a Failure (`network`) if the body is incomplete or damaged, or (`parse`) if it is too large. */
export async function decompress(body: Buffer, encodings: string, { maxBytes, status }: BodyLimits): Promise<Buffer> {
  const applied = compressionsIn(encodings);
  if (applied.length > maxEncodings) {
    throw new Failure('parse', `expected at most ${maxEncodings} content encodings, found ${applied.length}`, { status });
  }
  const options = { maxOutputLength: maxBytes };
  let result = body;
  for (const encoding of applied.reverse()) {
    const decoder = decoderOf(encoding, result);
    if (!decoder) throw new Failure('parse', `expected the content encoding ${acceptEncoding}, found "${encodings}"`, { status });
    try {
      result = result.length <= syncBytes ? decoder.sync(result, options) : await decoder.async(result, options);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes, status);
      throw new Failure('network', `the ${encoding} body is cut off or damaged: ${message}`, { retryable: true, status });
    }
  }
  return result;
}

/** HTTP requires zlib for `deflate` (RFC 9110, 8.4.1.2), but many servers send raw data. In zlib, 4 low bits of the first byte are 8. */
function decoderOf(encoding: string, body: Buffer): Decompressor | undefined {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return gzip;
    case 'deflate':
      return ((body[0] ?? 0) & 15) === 8 ? zlib : raw;
    case 'br':
      return brotli;
    default:
      return undefined;
  }
}

/** Creates the failure for a body that is larger than the flow's `max_body` allows. */
export function tooLarge(maxBytes: number, status: number): Failure {
  return new Failure('parse', `the body is larger than max_body of ${maxBytes} bytes`, { status });
}
