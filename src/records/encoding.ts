import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { invalidOption } from '../core/failure.ts';
import { inputError } from './record-reader.ts';

/** The standard name for a label (encoding.spec.whatwg.org, 4.2). Throws an AutomateError (`usage`) if it is unknown. */
export function encodingOf(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    const expected = 'expected an encoding such as utf-8, latin1, windows-1252, utf-16le or shift_jis';
    throw invalidOption('encoding', `${expected}, found "${label}"`, error);
  }
}

/** Converts to UTF-8. Throws an AutomateError (`input`) for bytes that are invalid in the encoding. */
export async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string, name: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let offset = 0;
  for await (const chunk of chunks) {
    const text = decode(() => decoder.decode(chunk, { stream: true }));
    offset += chunk.length;
    if (text !== '') yield Buffer.from(text);
  }
  const rest = decode(() => decoder.decode());
  if (rest !== '') yield Buffer.from(rest);

  function decode(next: () => string): string {
    try {
      return next();
    } catch (error) {
      const found = `found other bytes at byte offset ${offset} or later`;
      throw inputError(name, `expected ${encoding}, ${found}`, { hint: 'not-this-encoding', cause: error });
    }
  }
}

/** Throws an AutomateError (`input`) if the data is not gzip or is truncated. */
export async function* gunzip(bytes: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const unzipped = createGunzip({ chunkSize: 65_536 });
  // Errors of the pipeline are ignored here, because reading from `unzipped` throws them.
  pipeline(bytes, unzipped, () => {});
  try {
    yield* unzipped;
  } catch (error) {
    throw gzipError(name, error);
  }
}

function gzipError(name: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith('Z_')) return error;
  if (code === 'Z_BUF_ERROR') {
    return inputError(name, 'expected the end of the gzip data, found the end of the file: it is truncated\nfetch or make the file again', {
      cause: error,
    });
  }
  return inputError(name, `expected gzip data, found something else (${message})\nfor a file that is not gzipped leave out .gz`, {
    cause: error,
  });
}
