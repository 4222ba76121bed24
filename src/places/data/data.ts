import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';

const decompress = promisify(gunzip);

/** Bytes of the buffer for decompression: more than any file, so that nothing is copied. Only memory that is written to is taken. */
const maxBytes = 16 * 2 ** 20;

/** Reads a JSON file from the embedded data. Throws an AutomateError (`input`) if the file is missing or damaged. */
export function readData<Content>(folder: string, name: string): Promise<Content> {
  return readAs(folder, name, (bytes) => JSON.parse(bytes.toString()) as Content);
}

/** Reads a small file, in a few ms. Throws an AutomateError (`input`) if the file is missing or damaged. */
export function readDataNow<Content>(folder: string, name: string): Content {
  try {
    return JSON.parse(gunzipSync(readFileSync(pathOf(folder, name))).toString());
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Throws an AutomateError (`input`) if the file is missing or damaged. */
export async function readAs<Content>(folder: string, name: string, read: (bytes: Buffer) => Content): Promise<Content> {
  try {
    return read(await decompress(await readFile(pathOf(folder, name)), { chunkSize: maxBytes }));
  } catch (error) {
    throw unreadable(name, error);
  }
}

function pathOf(folder: string, name: string): string {
  return join(folder, `${name}.gz`);
}

function unreadable(name: string, error: unknown): AutomateError {
  const reason = `the embedded data "${name}" cannot be read: ${(error as Error).message}`;
  return new AutomateError('input', `${reason}\ninstall automate again`, { cause: error });
}

/** The licence of a package of embedded data, and the date of the data. */
export interface Notice {
  /** Name of the data source, as in `core/lookups/sources`. If no lookup returns this data, the name of the package. */
  readonly source: string;
  readonly package: string;
  readonly version: string;
  /** Date of the data, such as 2026-09-18. */
  readonly date: string;
  /** The complete text of the licence. */
  readonly licence: string;
}

export function readNotices(folder: string): Promise<readonly Notice[]> {
  return readData(folder, 'notices');
}
