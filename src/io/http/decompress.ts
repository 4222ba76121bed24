import { promisify } from 'node:util';
import { brotliDecompress, brotliDecompressSync, gunzip, gunzipSync, inflate, inflateSync } from 'node:zlib';
import { Failure } from '../../core/failure.ts';

const decoders: Record<string, { sync: typeof gunzipSync; async: (body: Buffer, options: object) => Promise<Buffer> }> = {
  gzip: { sync: gunzipSync, async: promisify(gunzip) as never },
  'x-gzip': { sync: gunzipSync, async: promisify(gunzip) as never },
  deflate: { sync: inflateSync, async: promisify(inflate) as never },
  br: { sync: brotliDecompressSync as typeof gunzipSync, async: promisify(brotliDecompress) as never },
};

/** What we tell servers that we understand. */
export const acceptEncoding = 'gzip, deflate, br';

/** Below this size a thread costs more than it takes over. */
const syncBytes = 32 * 1024;

/** Decompresses a whole body. Throws a Failure: `network` when it was cut off or is damaged, `parse` when it is too large. */
export async function decompress(body: Buffer, encodings: string, maxBytes: number): Promise<Buffer> {
  let result = body;
  for (const name of encodings.toLowerCase().split(',').reverse()) {
    const encoding = name.trim();
    if (encoding === '' || encoding === 'identity') continue;
    const decoder = decoders[encoding];
    if (!decoder) throw new Failure('parse', `expected the content encoding ${acceptEncoding}, found "${encoding}"`);
    try {
      const options = { maxOutputLength: maxBytes };
      result = result.length <= syncBytes ? decoder.sync(result, options) : await decoder.async(result, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
      throw new Failure('network', `the ${encoding} body is cut off or damaged: ${(error as Error).message}`, { retryable: true });
    }
  }
  return result;
}

/** The failure of a body that is larger than the flow allows. */
export function tooLarge(maxBytes: number): Failure {
  return new Failure('parse', `the body is larger than max_body of ${maxBytes} bytes`);
}
