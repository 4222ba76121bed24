import { randomBytes } from 'node:crypto';
import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { AutomateError } from '../core/failure.ts';
import { orUndefined } from '../core/value/value.ts';
import { syncFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import type { Format } from '../records/formats.ts';
import { type FailedList, FailedRecords, type Mark } from './journal/failed-list.ts';
import { refuseNoFile } from './journal/lines.ts';
import type { Identity } from './run-identity.ts';
import { type Written, writeAt } from './sink.ts';

/**
 * The truth about a finished output, in one file beside it: a key, an entry of 52 bytes for each record that `update` remembers, an entry of
 * 16 bytes for each range of failed records, and at the end what made the output, as JSON with a checksum of everything.
 */
interface TruthFacts {
  /** Everything for a retry of the failed records. Undefined if there are none. */
  readonly list?: FailedList;
  /** Shows that nothing is left to do if the same command is used again. Undefined if the run was not started with `resume`. */
  readonly note?: CompleteRun;
  /** The nodes, options and files that the remembered rows depend on. Undefined for a run without `update`. */
  readonly memory?: MemoryFacts;
}

/** A complete run, which was started with `resume`. */
export interface CompleteRun {
  /** The run's UUID; after a retry that changed the run's files, the retry's. */
  readonly run: string;
  readonly identity: Identity;
  readonly counts: CompleteCounts;
  /** `errors` is undefined if no record failed or if there is no errors file. */
  readonly files: { readonly out: Written; readonly errors?: Written & { readonly path: string } };
}

export interface CompleteCounts {
  readonly written: number;
  readonly failed: number;
  readonly filtered?: number;
}

/** Describes the rows of one record in an output, but does not contain their values. */
export interface RememberedRows {
  /** Hash of the fields that the flow reads, with a secret key, as 16 characters from 0 to 255. */
  readonly hash: string;
  /** Hash of all fields, as 8 characters. */
  readonly whole: string;
  /** Time at which the record's requests were sent, in ms since 1970. */
  readonly atMs: number;
  /** Position of the first row, in bytes of text. `end` is the position after the last row. */
  start: number;
  end: number;
  readonly rows: number;
  /** For rows copied from an earlier output, the 1-based index of their entry there. 0 if this run created the rows. */
  readonly taken: number;
}

export interface MemoryFacts {
  /** Time at which the output was completed. */
  readonly at: string;
  readonly format: Format;
  /** Hashes of what the rows depend on besides the input, such as nodes and connections. The keys are names for messages. */
  readonly makers: Readonly<Record<string, string>>;
  readonly out: Written;
  readonly firstRow: number;
}

export interface FoundMemory extends MemoryFacts {
  readonly path: string;
  readonly key: Buffer;
  readonly count: number;
}

export interface FoundTruth extends TruthFacts {
  readonly path: string;
  readonly key: Buffer;
  readonly count: number;
  readonly failed: FailedRecords;
}

const keyBytes = 32;
export const [hashBytes, wholeBytes] = [16, 8];
export const entryBytes = 52;
const failedBytes = 16;
const mark = Buffer.from('AUTOMATE');
const tailBytes = mark.length + 4;

/** `index` is 0-based. */
export function entryPlace(index: number): number {
  return keyBytes + index * entryBytes;
}

export const truthName = 'the file about the output';

/** Next to the output file. */
export function truthPath(out: string): string {
  return `${out}.automate`;
}

function writeEntry({ hash, whole, atMs, start, end, rows, taken }: RememberedRows, bytes: Buffer, at: number): void {
  bytes.write(hash, at, hashBytes, 'latin1');
  bytes.write(whole, at + hashBytes, wholeBytes, 'latin1');
  bytes.writeUIntBE(atMs, at + 24, 6);
  bytes.writeUIntBE(start, at + 30, 6);
  bytes.writeUIntBE(end, at + 36, 6);
  bytes.writeUInt32BE(rows, at + 42);
  bytes.writeUIntBE(taken, at + 46, 6);
}

/** The entry begins at the offset `at`. `taken` replaces its own value. */
export function entryIn(bytes: Buffer, at: number, taken = bytes.readUIntBE(at + 46, 6)): RememberedRows {
  return {
    hash: bytes.toString('latin1', at, at + hashBytes),
    whole: bytes.toString('latin1', at + hashBytes, at + hashBytes + wholeBytes),
    atMs: bytes.readUIntBE(at + 24, 6),
    start: bytes.readUIntBE(at + 30, 6),
    end: bytes.readUIntBE(at + 36, 6),
    rows: bytes.readUInt32BE(at + 42),
    taken,
  };
}

/** The truth about an output that is still being written. Rows are added as they are written, everything else at the end. */
export class TruthLog {
  readonly key: Buffer;
  readonly #path: string;
  readonly #handle: FileHandle;
  count: number;
  /** The CRC-32 of the key and all entries. */
  #crc: number;

  private constructor(path: string, handle: FileHandle, key: Buffer, { count, crc }: { readonly count: number; readonly crc: number }) {
    this.#path = path;
    this.#handle = handle;
    this.key = key;
    this.count = count;
    this.#crc = crc;
  }

  /** `key` is secret, for the hashes. An update uses the earlier file's key, so that the hashes can be compared. */
  static create(path: string, key: Buffer = randomBytes(keyBytes)): Promise<TruthLog> {
    return namingErrors(path, 'written', async () => {
      await rm(path, { force: true });
      const handle = await open(path, 'wx+', 0o600);
      await handle.writeFile(key);
      return new TruthLog(path, handle, key, { count: 0, crc: crc32(key) });
    });
  }

  /** `count` is the number of entries at the last checkpoint. All later entries are removed. */
  static async continue(path: string, count: number): Promise<TruthLog> {
    const handle = await namingErrors(path, 'written', () => open(path, 'r+'));
    const key = Buffer.alloc(keyBytes);
    const { bytesRead } = await handle.read(key, 0, keyBytes, 0);
    const { size } = await handle.stat();
    if (bytesRead < keyBytes || size < entryPlace(count)) {
      await handle.close();
      throw damaged(path);
    }
    await handle.truncate(entryPlace(count));
    return new TruthLog(path, handle, key, { count, crc: await crcOf(path, entryPlace(count)) });
  }

  async add(entries: readonly RememberedRows[]): Promise<void> {
    if (entries.length === 0) return;
    const bytes = Buffer.alloc(entries.length * entryBytes);
    for (const [index, entry] of entries.entries()) writeEntry(entry, bytes, index * entryBytes);
    await namingErrors(this.#path, 'written', () => writeAt(this.#handle, bytes, entryPlace(this.count)));
    this.count += entries.length;
    this.#crc = crc32(bytes, this.#crc);
  }

  sync(): Promise<void> {
    return namingErrors(this.#path, 'written', () => this.#handle.datasync());
  }

  entries(): AsyncGenerator<RememberedRows> {
    return entriesIn(this.#handle, this.count);
  }

  /** Writes the failed records and the facts, and closes the file. Everything is on disk then. */
  async finish(facts: TruthFacts, marks: AsyncIterable<readonly Mark[]>): Promise<void> {
    let end = entryPlace(this.count);
    let failed = 0;
    await namingErrors(this.#path, 'written', async () => {
      if (facts.list) {
        for await (const some of marks) {
          const bytes = failedEntries(some);
          await writeAt(this.#handle, bytes, end);
          end += bytes.length;
          failed += some.length;
          this.#crc = crc32(bytes, this.#crc);
        }
      }
      const all = { ...facts, count: this.count, ranges: failed };
      const head = Buffer.from(JSON.stringify({ ...all, crc: crc32(JSON.stringify(all), this.#crc) }));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(head.length);
      await writeAt(this.#handle, Buffer.concat([head, length, mark]), end);
      await this.#handle.datasync();
    });
    await this.close();
    await syncFolder(this.#path);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

interface TruthHead extends TruthFacts {
  readonly count: number;
  readonly ranges: number;
  readonly crc: number;
}

/** The facts at the end of the file, without a check of the rest. Undefined if there is no such file, or if it is no truth. */
export function truthFactsIn(path: string): TruthFacts | undefined {
  return orUndefined(() => {
    const file = openSync(path, 'r');
    try {
      return headIn(file)?.head;
    } finally {
      closeSync(file);
    }
  });
}

/** `bytes` is the length of the file up to the facts. Undefined if the file ends in another way. */
function headIn(file: number): { readonly head: TruthHead; readonly bytes: number } | undefined {
  const size = fstatSync(file).size;
  const tail = bytesAt(file, size - tailBytes, tailBytes);
  const length = tail.readUInt32BE(0);
  const bytes = size - tailBytes - length;
  if (!tail.subarray(4).equals(mark) || bytes < keyBytes) return undefined;
  return { head: JSON.parse(bytesAt(file, bytes, length).toString()) as TruthHead, bytes };
}

function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, Math.max(0, at));
  return bytes;
}

/** Undefined if the file does not exist. Throws an AutomateError (`output-exists`) if it is damaged. */
export async function readTruth(path: string): Promise<FoundTruth | undefined> {
  refuseNoFile(path, truthName);
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileError(path, 'read', error);
  }
  try {
    const found = orUndefined(() => headIn(file));
    if (!found) throw damaged(path);
    const { crc, ...facts } = found.head;
    const end = entryPlace(facts.count);
    const isWhole =
      end + facts.ranges * failedBytes === found.bytes && crc32(JSON.stringify(facts), await crcOf(path, found.bytes)) === crc;
    if (!isWhole) throw damaged(path);
    return { ...facts, path, key: bytesAt(file, 0, keyBytes), failed: failedRecordsIn(file, end, facts.ranges) };
  } finally {
    closeSync(file);
  }
}

/** 6 bytes for the number of the first record, 4 for their count, 6 for the place of their rows. */
function failedEntries(marks: readonly Mark[]): Buffer {
  const bytes = Buffer.alloc(marks.length * failedBytes);
  for (const [index, [first, count, offset]] of marks.entries()) {
    bytes.writeUIntBE(first, index * failedBytes, 6);
    bytes.writeUInt32BE(count, index * failedBytes + 6);
    bytes.writeUIntBE(offset, index * failedBytes + 10, 6);
  }
  return bytes;
}

function failedRecordsIn(file: number, at: number, ranges: number): FailedRecords {
  const failed = new FailedRecords();
  const some = 4096;
  for (let done = 0; done < ranges; done += some) {
    const bytes = bytesAt(file, at + done * failedBytes, Math.min(some, ranges - done) * failedBytes);
    for (let place = 0; place < bytes.length; place += failedBytes)
      failed.add([[bytes.readUIntBE(place, 6), bytes.readUInt32BE(place + 6), bytes.readUIntBE(place + 10, 6)]]);
  }
  return failed;
}

/** In the order in which the entries were written. */
export async function* entriesOf({ path, count }: Pick<FoundTruth, 'path' | 'count'>): AsyncGenerator<RememberedRows> {
  const handle = await namingErrors(path, 'read', () => open(path));
  try {
    yield* entriesIn(handle, count);
  } finally {
    await handle.close();
  }
}

async function* entriesIn(handle: FileHandle, count: number): AsyncGenerator<RememberedRows> {
  const some = 1024;
  for (let at = 0; at < count; at += some) {
    const bytes = Buffer.alloc(Math.min(some, count - at) * entryBytes);
    await handle.read(bytes, 0, bytes.length, entryPlace(at));
    for (let place = 0; place < bytes.length; place += entryBytes) yield entryIn(bytes, place);
  }
}

function damaged(path: string): AutomateError {
  const message = `${path} is damaged: it is not known which records the rows of the output belong to, and which records failed`;
  return new AutomateError('output-exists', message, { code: 'update-refused', details: {} });
}

async function crcOf(path: string, bytes: number): Promise<number> {
  let crc = 0;
  for await (const chunk of createReadStream(path, { end: bytes - 1, highWaterMark: 1024 * 1024 })) crc = crc32(chunk, crc);
  return crc;
}
