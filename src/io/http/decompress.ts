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

/** The encodings that requests accept. */
export const acceptEncoding = 'gzip, deflate, br';

/** Maximum of encodings of one body. No server applies more; a body with more is an attack. */
const maxEncodings = 5;

/** Up to this size, handing the work to a thread costs more than the work. */
const syncBytes = 32 * 1024;

/** The limit of a body, and the status for its failures. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly status: number;
}

/** Decompresses a whole body. Throws a Failure: `network` if it was cut off or is damaged, `parse` if it is too large. */
export async function decompress(body: Buffer, encodings: string, { maxBytes, status }: BodyLimits): Promise<Buffer> {
  const names = encodings.toLowerCase().match(/[^\s,]+/g) ?? [];
  const applied = names.filter((name) => name !== 'identity');
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

/** For `deflate` HTTP demands zlib's format (RFC 9110, 8.4.1.2), but many servers send raw data. Only zlib's begins with an 8 in its low half-byte. */
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
