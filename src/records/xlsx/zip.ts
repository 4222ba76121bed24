import { randomUUID } from 'node:crypto';
import { closeSync, createWriteStream, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Entry, fromFdPromise } from 'yauzl';
import { AutomateError } from '../../core/failure.ts';
import { formatCount } from '../../core/text/number.ts';
import { namingErrors } from '../../files/naming-errors.ts';
import { type Input, readError } from '../input.ts';
import { ReadCheck } from '../read-check.ts';
import { inputError } from '../record-reader.ts';
import { refuseOtherText } from '../utf8.ts';

/** Uncompressed size of a file in the workbook, unless the caller knows better. */
const maxPartBytes = 64 * 1024 * 1024;

/** A workbook with a thousand sheets has a few thousand files. */
const maxFiles = 65_535;

/** The paths of files are not case-sensitive. */
export interface Zip {
  has(part: string): boolean;
  /** Uncompressed bytes, as specified in the archive. */
  size(part: string): number;
  /** Streams the decompressed content. Throws an Error if it has more than `maxBytes`, by default 64 MB. */
  read(part: string, maxBytes?: number): Promise<Readable>;
  /** Throws an AutomateError (`input`) if the archive was overwritten or cut off since it was opened. */
  refuseChange(): void;
  close(): Promise<void>;
}

/** Copies a stream to a file, because a zip archive lists its files at its end. Throws an AutomateError (`input`) for no workbook. */
export async function openZip(input: Input): Promise<Zip> {
  const file = input.isSeekable ? openFile(input.name) : await copyOf(input);
  try {
    const check = new ReadCheck(file);
    check.addWhole();
    refuseOther(file, input.name);
    return { ...(await zipOf(file)), refuseChange: () => check.refuseChange(input.name) };
  } catch (error) {
    closeSync(file);
    throw error instanceof AutomateError ? error : damaged(input.name, error);
  }
}

/** `place` is the name of the input and, if it is known, the position of the damage. */
export function damaged(place: string, cause: unknown): AutomateError {
  const { message } = cause as Error;
  return inputError(place, `expected an Excel workbook (.xlsx), found a damaged one: ${message}\nsave or fetch it again`, { cause });
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw readError(path, error);
  }
}

/** Returns a temporary file's descriptor. The file is unlinked immediately, so it disappears even if the process is killed. */
async function copyOf(input: Input): Promise<number> {
  const path = join(tmpdir(), `automate-${randomUUID()}.part`);
  return namingErrors(path, 'written', async () => {
    const file = openSync(path, 'wx+', 0o600);
    try {
      rmSync(path);
      await pipeline(input.bytes(0), createWriteStream(path, { fd: file, autoClose: false }));
      input.refuseChange();
      return file;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  });
}

/** Closing the archive also closes the file descriptor. */
async function zipOf(file: number): Promise<Omit<Zip, 'refuseChange'>> {
  const zip = await fromFdPromise(file, { lazyEntries: true, autoClose: false });
  const closed = new Promise<void>((resolve) => zip.once('close', resolve));
  const entries = new Map<string, Entry>();
  if (zip.entryCount > maxFiles) throw new Error(`it has ${formatCount(zip.entryCount)} files, more than ${formatCount(maxFiles)}`);
  for await (const entry of zip.eachEntry()) entries.set(entry.fileName.toLowerCase(), entry);
  let stream: Readable | undefined;
  const entryOf = (part: string) => entries.get(part.toLowerCase());
  return {
    has: (part) => entryOf(part) !== undefined,
    size: (part) => entryOf(part)?.uncompressedSize ?? 0,
    async read(part, maxBytes = maxPartBytes) {
      const entry = entryOf(part);
      if (!entry) throw new Error(`it has no ${part}`);
      // The stream fails if the content is longer than the archive states.
      const { uncompressedSize: bytes } = entry;
      if (bytes > maxBytes) throw new Error(`it has ${formatCount(bytes)} bytes, more than ${formatCount(maxBytes)}`);
      stream = await zip.openReadStreamPromise(entry);
      return stream;
    },
    async close() {
      stream?.destroy();
      zip.close();
      await closed;
    },
  };
}

/** The first bytes of a zip archive, and of an .xls file or a workbook with a password. */
const [archiveStart, containerStart] = ['PK', '\xd0\xcf\x11\xe0'];

function refuseOther(file: number, name: string): void {
  const begin = bytesAt(file, 0, 512);
  const text = begin.toString('latin1');
  if (text.startsWith(archiveStart)) return;
  const fail = (found: string, hint?: 'csv') => {
    throw inputError(name, `expected an Excel workbook (.xlsx), found ${found}`, { hint });
  };
  if (begin.length === 0) fail('an empty file');
  refuseOtherText(text, name);
  if (!text.startsWith(containerStart)) fail('another file', 'csv');
  // The list of streams in an old Excel file shows whether the workbook has a password (MS-CFB, 2.2 and 2.6).
  const sector = 2 ** begin.readUInt16LE(30);
  const list = bytesAt(file, (begin.readUInt32LE(48) + 1) * sector, 4096);
  if (list.toString('utf16le').includes('EncryptedPackage')) fail('one with a password\nsave it without');
  fail('an old one (.xls)\nopen it and save it as .xlsx');
}

function bytesAt(file: number, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
}
