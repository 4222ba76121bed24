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
import { Failure } from '../../core/failure.ts';

interface Decoder {
  readonly sync: (body: Buffer, options: ZlibOptions) => Buffer;
  readonly async: (body: Buffer, options: ZlibOptions) => Promise<Buffer>;
}

const gzip: Decoder = { sync: gunzipSync, async: promisify<Buffer, ZlibOptions, Buffer>(gunzip) };
const zlib: Decoder = { sync: inflateSync, async: promisify<Buffer, ZlibOptions, Buffer>(inflate) };
const raw: Decoder = { sync: inflateRawSync, async: promisify<Buffer, ZlibOptions, Buffer>(inflateRaw) };
const brotli: Decoder = { sync: brotliDecompressSync, async: promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress) };

/** What we tell servers that we understand. */
export const acceptEncoding = 'gzip, deflate, br';

/** More than this is no server's doing, but an attack. */
const mostEncodings = 5;

/** Below this size a thread costs more than it takes over. */
const syncBytes = 32 * 1024;

/** What is known of the body. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly status: number;
}

/** Decompresses a whole body. Throws a Failure: `network` when it was cut off or is damaged, `parse` when it is too large. */
export async function decompress(body: Buffer, encodings: string, { maxBytes, status }: BodyLimits): Promise<Buffer> {
  const names = encodings
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const applied = names.filter((name) => name !== '' && name !== 'identity');
  if (applied.length > mostEncodings) {
    throw new Failure('parse', `expected at most ${mostEncodings} content encodings, found ${applied.length}`, { status });
  }
  const options = { maxOutputLength: maxBytes };
  let result = body;
  for (const encoding of applied.reverse()) {
    const decoder = decoderOf(encoding, result);
    if (!decoder) throw new Failure('parse', `expected the content encoding ${acceptEncoding}, found "${encoding}"`, { status });
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

/** Many servers send bare deflate data where HTTP says zlib's (RFC 9110, 8.4.1.2); only zlib's begins with an 8 in its low half-byte. */
function decoderOf(encoding: string, body: Buffer): Decoder | undefined {
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

/** The failure of a body that is larger than the flow allows. */
export function tooLarge(maxBytes: number, status: number): Failure {
  return new Failure('parse', `the body is larger than max_body of ${maxBytes} bytes`, { status });
}
