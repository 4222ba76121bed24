import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';

const decompress = promisify(brotliDecompress);

/** Reads a file of the embedded data. Throws an AutomateError (`input`) if it is missing or broken. */
export async function readData<Content>(folder: string, name: string): Promise<Content> {
  try {
    return JSON.parse((await decompress(await readFile(join(folder, `${name}.br`)))).toString()) as Content;
  } catch (error) {
    const reason = `the embedded data "${name}" cannot be read: ${(error as Error).message}`;
    throw new AutomateError('input', `${reason}\ninstall automate again`, { cause: error });
  }
}
