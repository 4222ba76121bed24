import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress, brotliDecompressSync } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';

const decompress = promisify(brotliDecompress);

/** More than the largest file has: decompressed in one piece it takes neither copies nor turns of the event loop. Memory that is not written to is not used. */
const maxBytes = 16 * 2 ** 20;

/** Reads a file of the embedded data that is JSON. Throws an AutomateError (`input`) if it is missing or broken. */
export function readData<Content>(folder: string, name: string): Promise<Content> {
  return readAs(folder, name, (bytes) => JSON.parse(bytes.toString()) as Content);
}

/** Reads a small file of the embedded data that is JSON, and blocks for a few ms. Throws an AutomateError (`input`) if it is missing or broken. */
export function readDataNow<Content>(folder: string, name: string): Content {
  try {
    return JSON.parse(brotliDecompressSync(readFileSync(pathOf(folder, name))).toString());
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Reads a file of the embedded data, and makes something of its bytes. Throws an AutomateError (`input`) if it is missing or broken. */
export async function readAs<Content>(folder: string, name: string, read: (bytes: Buffer) => Content): Promise<Content> {
  try {
    return read(await decompress(await readFile(pathOf(folder, name)), { chunkSize: maxBytes }));
  } catch (error) {
    throw unreadable(name, error);
  }
}

function pathOf(folder: string, name: string): string {
  return join(folder, `${name}.br`);
}

function unreadable(name: string, error: unknown): AutomateError {
  const reason = `the embedded data "${name}" cannot be read: ${(error as Error).message}`;
  return new AutomateError('input', `${reason}\ninstall automate again`, { cause: error });
}
