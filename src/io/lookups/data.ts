import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';

const decompress = promisify(brotliDecompress);

/** More than the largest file: in one piece it takes neither copies nor turns of the event loop. Memory that is not written to is not used. */
const maxBytes = 16 * 2 ** 20;

/** Reads a file of the embedded data that is JSON. Throws an AutomateError (`input`) if it is missing or broken. */
export function readData<Content>(folder: string, name: string): Promise<Content> {
  return readAs(folder, name, (bytes) => JSON.parse(bytes.toString()) as Content);
}

/** Reads a file of the embedded data, and reads its bytes. Throws an AutomateError (`input`) if it is missing or broken. */
export async function readAs<Content>(folder: string, name: string, read: (bytes: Buffer) => Content): Promise<Content> {
  try {
    return read(await decompress(await readFile(join(folder, `${name}.br`)), { chunkSize: maxBytes }));
  } catch (error) {
    const reason = `the embedded data "${name}" cannot be read: ${(error as Error).message}`;
    throw new AutomateError('input', `${reason}\ninstall automate again`, { cause: error });
  }
}
