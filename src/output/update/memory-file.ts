import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import { namingErrors } from '../../files/naming-errors.ts';
import type { Format } from '../../records/formats.ts';
import { refuseNoFile } from '../journal/lines.ts';
import { type Written, writeAt } from '../sink.ts';

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

interface MemoryFacts {
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

const keyBytes = 32;
export const [hashBytes, wholeBytes] = [16, 8];
export const entryBytes = 52;
const mark = Buffer.from('AUTOROWS');
const tailBytes = mark.length + 4;

/** `index` is 0-based. */
export function entryPlace(index: number): number {
  return keyBytes + index * entryBytes;
}

/** Next to the output file. */
export function memoryPath(out: string): string {
  return `${out}.automate-rows`;
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

/** The memory file of an output that is still being written. */
export class MemoryLog {
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
  static create(path: string, key: Buffer = randomBytes(keyBytes)): Promise<MemoryLog> {
    return namingErrors(path, 'written', async () => {
      await rm(path, { force: true });
      const handle = await open(path, 'wx+', 0o600);
      await handle.writeFile(key);
      return new MemoryLog(path, handle, key, { count: 0, crc: crc32(key) });
    });
  }

  /** `count` is the number of entries at the last checkpoint. All later entries are removed. */
  static async continue(path: string, count: number): Promise<MemoryLog> {
    const handle = await namingErrors(path, 'written', () => open(path, 'r+'));
    const key = Buffer.alloc(keyBytes);
    const { bytesRead } = await handle.read(key, 0, keyBytes, 0);
    const { size } = await handle.stat();
    if (bytesRead < keyBytes || size < entryPlace(count)) {
      await handle.close();
      throw memoryDamaged(path);
    }
    await handle.truncate(entryPlace(count));
    return new MemoryLog(path, handle, key, { count, crc: await crcOfEntries(path, entryPlace(count)) });
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

  /** Writes the facts at the end of the file, and closes it. */
  async finish(facts: MemoryFacts): Promise<void> {
    const end = entryPlace(this.count);
    const all = { ...facts, count: this.count };
    const head = Buffer.from(JSON.stringify({ ...all, crc: crc32(JSON.stringify(all), this.#crc) }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(head.length);
    const tail = Buffer.concat([head, length, mark]);
    await namingErrors(this.#path, 'written', async () => {
      await writeAt(this.#handle, tail, end);
      await this.#handle.datasync();
    });
    await this.close();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Undefined if the file does not exist. Throws an AutomateError (`output-exists`) if it is damaged. */
export async function readMemory(path: string): Promise<FoundMemory | undefined> {
  refuseNoFile(path, 'the memory file of the output');
  const handle = await namingErrors(path, 'read', () =>
    open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    }),
  );
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    const read = async (at: number, bytes: number) => {
      const buffer = Buffer.alloc(Math.max(0, bytes));
      await handle.read(buffer, 0, buffer.length, Math.max(0, at));
      return buffer;
    };
    const tail = await read(size - tailBytes, tailBytes);
    const length = tail.readUInt32BE(0);
    if (size < tailBytes + keyBytes || !tail.subarray(4).equals(mark) || length > size - tailBytes) throw memoryDamaged(path);
    const { crc, ...facts } = JSON.parse(`${await read(size - tailBytes - length, length)}`) as FoundMemory & { readonly crc: number };
    const end = entryPlace(facts.count);
    if (end !== size - tailBytes - length || crc32(JSON.stringify(facts), await crcOfEntries(path, end)) !== crc) throw memoryDamaged(path);
    return { ...facts, path, key: await read(0, keyBytes) };
  } catch (error) {
    throw error instanceof SyntaxError ? memoryDamaged(path) : error;
  } finally {
    await handle.close();
  }
}

/** In the order in which the entries were written. */
export async function* entriesOf({ path, count }: Pick<FoundMemory, 'path' | 'count'>): AsyncGenerator<RememberedRows> {
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

function memoryDamaged(path: string): AutomateError {
  return new AutomateError('output-exists', `${path} is damaged: the positions of the old rows are not known`, {
    code: 'update-refused',
    details: {},
  });
}

async function crcOfEntries(path: string, bytes: number): Promise<number> {
  let crc = 0;
  for await (const chunk of createReadStream(path, { end: bytes - 1, highWaterMark: 1024 * 1024 })) crc = crc32(chunk, crc);
  return crc;
}
