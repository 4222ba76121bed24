import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, gzip } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import { syncFolder } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { isNoFile, statOf } from '../files/stat.ts';

/** A file or stream that text is appended to. Every call may throw an AutomateError (`output`, `stdout-closed`). */
export interface Sink {
  write(text: string): Promise<void>;
  /** Waits until the text is on disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
  readonly written: Written;
}

/** The content of a file, for comparison. */
export interface Written {
  readonly bytes: number;
  /** CRC-32 of the bytes. */
  readonly crc: number;
  /** The length of the text in bytes: more than `bytes` in a gzipped file. */
  readonly text: number;
}

/** The content of a new file. */
export const nothingWritten: Written = { bytes: 0, crc: 0, text: 0 };

/** Options for opening a file. */
export interface FileSinkOptions {
  readonly gzip: boolean;
  /** The content that stays: the rest of the file is cut off. Absent for a new file. */
  readonly keep?: Written | undefined;
  /** Refuses an existing file: another process made it meanwhile. */
  readonly isNew?: boolean;
  /** Appends to an existing file. */
  readonly appends?: boolean;
}

const gzipped = promisify(gzip);

/** True for a regular file. Devices and pipes exist all the time, and nothing in them can be overwritten. */
export function isRegularFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

/** Refuses an existing file. `of`: the file's part in the run. */
export async function refuseExisting(path: string, of: 'out' | 'errors'): Promise<void> {
  if (isRegularFile(path)) throw new AutomateError('output-exists', `${path} exists already`, { code: 'output-exists', details: { of } });
}

/** Refuses a file whose beginning is not what was written. Throws an AutomateError (`output-exists`). */
export async function refuseChanged(path: string, { bytes, crc }: Omit<Written, 'text'>): Promise<void> {
  if (bytes === 0) return;
  const found = await readWritten(path, bytes);
  if (found.bytes === bytes && found.crc === crc) return;
  const what = found.bytes < bytes ? `holds ${found.bytes} bytes, and ${bytes} were written` : 'does not hold what was written';
  const message = statOf(path) ? `${path} ${what}: it was changed since` : `${path} is gone`;
  throw new AutomateError('output-exists', message, { code: 'output-changed', details: {} });
}

/** Refuses a file that is not what was written, or that holds more. Throws an AutomateError (`output-exists`). */
export async function refuseChangedWhole(path: string, written: Omit<Written, 'text'>): Promise<void> {
  const size = statOf(path)?.size ?? 0;
  if (size <= written.bytes) return refuseChanged(path, written);
  const message = `${path} holds ${size} bytes, and ${written.bytes} were written: it was changed since`;
  throw new AutomateError('output-exists', message, { code: 'output-changed', details: {} });
}

/** The first `maxBytes` of a file. A missing file is empty. */
async function readWritten(path: string, maxBytes: number): Promise<Omit<Written, 'text'>> {
  let [bytes, crc] = [0, 0];
  await namingErrors(path, 'written', async () => {
    try {
      for await (const chunk of createReadStream(path, { end: maxBytes - 1, highWaterMark: 1024 * 1024 })) {
        bytes += chunk.length;
        crc = crc32(chunk, crc);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  });
  return { bytes, crc };
}

/** Opens a file. Every write to a gzipped file is a separate gzip member (RFC 1952, 2.2), so the file can be read, and cut, after each write. */
export async function openFileSink(path: string, options: FileSinkOptions): Promise<Sink> {
  return new DeviceSink(path, await openFileDevice(path, options), options.gzip, options.keep);
}

/** Opens a file for bytes. Throws an AutomateError (`output`). */
export async function openFileDevice(path: string, options: Omit<FileSinkOptions, 'gzip'> = {}): Promise<Device> {
  const handle = await namingErrors(path, 'written', () => openToWrite(path, options));
  return { write: (bytes) => writeAll(handle, bytes), sync: () => syncFile(handle), close: () => handle.close() };
}

/** Syncs the folder of a new file: without that the file may be lost in a crash. */
async function openToWrite(path: string, { keep, isNew, appends }: Omit<FileSinkOptions, 'gzip'>): Promise<FileHandle> {
  if (isNoFile(path)) return open(path, 'w');
  if (keep) {
    const handle = await open(path, 'a', 0o666);
    await handle.truncate(keep.bytes);
    return handle;
  }
  const handle = await open(path, appends ? 'a' : isNew ? 'wx' : 'w', 0o666);
  await syncFolder(path);
  return handle;
}

/** One write may take only some of the bytes. */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

/** Pipes and devices cannot be synced, and need not be. */
async function syncFile(handle: FileHandle): Promise<void> {
  await handle.datasync().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
  });
}

/** A sink for a file that is complete: takes no more text. */
export function createClosedSink(written: Written): Sink {
  return { written, write: async () => {}, sync: async () => {}, close: async () => {} };
}

/** A sink on a stream such as stdout, which stays open. */
export function createStreamSink(stream: NodeJS.WritableStream, name: string, options: { readonly gzip: boolean }): Sink {
  return new DeviceSink(name, streamDevice(stream), options.gzip);
}

/** The place for bytes that a stream such as stdout is. */
export function streamDevice(stream: NodeJS.WritableStream): Device {
  let broken: Error | undefined;
  stream.on('error', (error) => {
    broken = error;
  });
  const write = async (bytes: Buffer) => {
    if (broken) throw broken;
    await writeTo(stream, bytes);
  };
  return { write, sync: async () => {}, close: async () => {} };
}

function writeTo(stream: NodeJS.WritableStream, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

/** A place for bytes. */
export interface Device {
  write(bytes: Buffer): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

class DeviceSink implements Sink {
  readonly #name: string;
  readonly #device: Device;
  readonly #gzip: boolean;
  #written: Written;

  constructor(name: string, device: Device, gzip: boolean, written = nothingWritten) {
    this.#name = name;
    this.#device = device;
    this.#gzip = gzip;
    this.#written = written;
  }

  get written(): Written {
    return this.#written;
  }

  async write(text: string): Promise<void> {
    // A file without a gzip member is not gzip: an empty output gets an empty member.
    const isNeeded = text !== '' || (this.#gzip && this.#written.bytes === 0);
    if (!isNeeded) return;
    const plain = Buffer.from(text);
    const bytes = this.#gzip ? await gzipped(plain) : plain;
    await namingErrors(this.#name, 'written', () => this.#device.write(bytes));
    const { written } = this;
    this.#written = { bytes: written.bytes + bytes.length, crc: crc32(bytes, written.crc), text: written.text + plain.length };
  }

  sync(): Promise<void> {
    return namingErrors(this.#name, 'written', () => this.#device.sync());
  }

  close(): Promise<void> {
    return namingErrors(this.#name, 'written', () => this.#device.close());
  }
}
