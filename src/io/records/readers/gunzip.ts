import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { inputError } from './input-error.ts';

/** Unzips. Throws an AutomateError (`input`) when the bytes are no gzip or their end is missing. */
export async function* gunzipped(bytes: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: 65_536 });
  // Whatever goes wrong comes out of the loop below.
  pipeline(bytes, gunzip, () => {});
  try {
    yield* gunzip;
  } catch (error) {
    throw gzipError(name, error);
  }
}

function gzipError(name: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith('Z_')) return error;
  if (code === 'Z_BUF_ERROR') {
    return inputError(
      name,
      'expected the end of the gzip data, found the end of the file: it is truncated\nfetch or make the file again',
      error,
    );
  }
  return inputError(name, `expected gzip data, found something else (${message})\nfor a file that is not gzipped leave out .gz`, error);
}
