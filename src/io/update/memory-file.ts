import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { refuseNoFile } from '../journal/lines.ts';
import type { Written } from '../output/sink.ts';
import type { Format } from '../records/format.ts';

/** The rows of one record in an output, without a value of it. */
export interface RememberedRows {
  /** A keyed hash of the fields that the flow reads. */
  readonly hash: Buffer;
  /** A shorter one of all fields. */
  readonly whole: Buffer;
  /** The time of its requests, in ms since 1970. */
  readonly atMs: number;
  /** The place of its rows in the text of the output, in bytes. */
  start: number;
  end: number;
  readonly rows: number;
  /** 1-based place of the rows in the earlier memory from which they were taken over; 0 for rows of this run. */
  readonly taken: number;
}

/** The facts about an output that its memory holds besides its records. */
export interface MemoryFacts {
  /** The time at which the output was complete. */
  readonly at: string;
  readonly format: Format;
  /** What made the rows, by its name in messages, as hashes. */
  readonly makers: Readonly<Record<string, string>>;
  readonly out: Written;
  readonly firstRow: number;
}

/** The memory of a complete output. */
export interface FoundMemory extends MemoryFacts {
  readonly path: string;
  readonly key: Buffer;
  readonly count: number;
}

const keyBytes = 32;
const [hashBytes, wholeBytes] = [16, 8];
/** The bytes of a record in the file. */
export const entryBytes = 52;
const mark = Buffer.from('AUTOROWS');
const tailBytes = mark.length + 4;

/** The place of a record in the file, by its 0-based index. */
export function entryPlace(index: number): number {
  return keyBytes + index * entryBytes;
}

/** The path of the memory, next to the output. */
export function memoryPath(out: string): string {
  return `${out}.automate-rows`;
}

function entryBytesOf({ hash, whole, atMs, start, end, rows, taken }: RememberedRows): Buffer {
  const bytes = Buffer.alloc(entryBytes);
  hash.copy(bytes, 0, 0, hashBytes);
  whole.copy(bytes, hashBytes, 0, wholeBytes);
  [atMs, start, end].forEach((number, index) => {
    bytes.writeUIntBE(number, 24 + index * 6, 6);
  });
  bytes.writeUInt32BE(rows, 42);
  bytes.writeUIntBE(taken, 46, 6);
  return bytes;
}

/** The record in these bytes. */
export function entryIn(bytes: Buffer): RememberedRows {
  const [atMs = 0, start = 0, end = 0] = [24, 30, 36].map((at) => bytes.readUIntBE(at, 6));
  const [hash, whole] = [bytes.subarray(0, hashBytes), bytes.subarray(hashBytes, hashBytes + wholeBytes)];
  return { hash, whole, atMs, start, end, rows: bytes.readUInt32BE(42), taken: bytes.readUIntBE(46, 6) };
}

/** The memory of an output that is being written. */
export class MemoryLog {
  readonly key: Buffer;
  readonly #path: string;
  readonly #handle: FileHandle;
  count: number;

  private constructor(path: string, handle: FileHandle, key: Buffer, count: number) {
    this.#path = path;
    this.#handle = handle;
    this.key = key;
    this.count = count;
  }

  /** Creates the file. `key`: that of an earlier memory; undefined for a new one. */
  static create(path: string, key: Buffer = randomBytes(keyBytes)): Promise<MemoryLog> {
    return namingErrors(path, 'written', async () => {
      await rm(path, { force: true });
      const handle = await open(path, 'wx+', 0o600);
      await handle.writeFile(key);
      return new MemoryLog(path, handle, key, 0);
    });
  }

  /** Continues the file of an earlier part of the run, which had remembered `count` records at its checkpoint. */
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
    return new MemoryLog(path, handle, key, count);
  }

  /** Adds records, and waits until they are on disk. */
  async add(entries: readonly RememberedRows[]): Promise<void> {
    if (entries.length === 0) return;
    const bytes = Buffer.concat(entries.map(entryBytesOf));
    await namingErrors(this.#path, 'written', async () => {
      await this.#handle.write(bytes, 0, bytes.length, entryPlace(this.count));
    });
    this.count += entries.length;
  }

  sync(): Promise<void> {
    return namingErrors(this.#path, 'written', () => this.#handle.datasync());
  }

  /** The records so far. */
  entries(): AsyncGenerator<RememberedRows> {
    return entriesIn(this.#handle, this.count);
  }

  /** Writes the facts about the whole output, and closes the file. */
  async finish(facts: MemoryFacts): Promise<void> {
    const end = entryPlace(this.count);
    const head = Buffer.from(JSON.stringify({ ...facts, count: this.count, crc: await crcOfEntries(this.#path, end) }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(head.length);
    const tail = Buffer.concat([head, length, mark]);
    await namingErrors(this.#path, 'written', async () => {
      await this.#handle.write(tail, 0, tail.length, end);
      await this.#handle.datasync();
    });
    await this.close();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Reads the facts of a memory; undefined if there is none. Throws an AutomateError (`output-exists`) if it is damaged. */
export async function readMemory(path: string): Promise<FoundMemory | undefined> {
  refuseNoFile(path, 'the memory of the output');
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
    if (end !== size - tailBytes - length || (await crcOfEntries(path, end)) !== crc) throw memoryDamaged(path);
    return { ...facts, path, key: await read(0, keyBytes) };
  } catch (error) {
    throw error instanceof SyntaxError ? memoryDamaged(path) : error;
  } finally {
    await handle.close();
  }
}

/** The records of a memory, in their order. */
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
    for (let place = 0; place < bytes.length; place += entryBytes) yield entryIn(bytes.subarray(place, place + entryBytes));
  }
}

/** The error for a memory that is not as it was written. */
function memoryDamaged(path: string): AutomateError {
  return new AutomateError('output-exists', `${path} is damaged: the places of the old rows are not known`, {
    code: 'update-refused',
    details: {},
  });
}

async function crcOfEntries(path: string, bytes: number): Promise<number> {
  let crc = 0;
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) crc = crc32(chunk, crc);
  return crc;
}
