import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, gzip } from 'node:zlib';
import { AutomateError } from '../core/failure.ts';
import { type OutputSpace, syncFolder } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { isNoFile, statOf } from '../files/stat.ts';

/**
 * A file or stream to which text is appended. If a method fails, it throws an AutomateError, which is `stdout-closed` for a closed stdout
 * and otherwise `output`.
 */
export interface Sink {
  write(text: string): Promise<void>;
  /** Waits until all written text is on disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
  readonly written: Written;
}

/**
 * Size and checksum of everything that a run has written to a file. A later run compares them with the file to detect changes by others.
 */
export interface Written {
  readonly bytes: number;
  /** CRC-32 of the file's bytes. */
  readonly crc: number;
  /** Size of the uncompressed text in bytes. For a gzipped file and a workbook, this is not the size of the file. */
  readonly text: number;
}

/** Size and checksum of an empty file. */
export const nothingWritten: Written = { bytes: 0, crc: 0, text: 0 };

/** Options for opening an output file. */
export interface FileSinkOptions {
  readonly gzip: boolean;
  /** Size and checksum of the existing content that is kept. Everything after it is cut off. Undefined for a new file. */
  readonly keep?: Written | undefined;
  /** True to fail if the file exists. Only another process can have created it at this point. */
  readonly isNew?: boolean;
  /** True to append to the file if it exists. */
  readonly appends?: boolean;
  readonly space?: OutputSpace | undefined;
}

const gzipped = promisify(gzip);

/** Returns true if there is a regular file at the path. Devices and pipes do not count, because writing to them overwrites nothing. */
export function isRegularFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

/** Throws an AutomateError (`output-exists`) if the file already exists. `of` is the role of the file in the run. */
export async function refuseExisting(path: string, of: 'out' | 'errors'): Promise<void> {
  if (isRegularFile(path)) throw new AutomateError('output-exists', `${path} exists already`, { code: 'output-exists', details: { of } });
}

/** Throws an AutomateError (`output-exists`) if the file does not begin with the content that an earlier run has written to it. */
export async function refuseChanged(path: string, { bytes, crc }: Omit<Written, 'text'>): Promise<void> {
  if (bytes === 0) return;
  const found = await readWritten(path, bytes);
  if (found.bytes === bytes && found.crc === crc) return;
  const what = found.bytes < bytes ? `has ${found.bytes} bytes, but ${bytes} were written` : 'does not contain what was written';
  const message = statOf(path) ? `${path} ${what}: it has been changed since` : `${path} is gone`;
  throw new AutomateError('output-exists', message, { code: 'output-changed', details: {} });
}

/**
 * Throws an AutomateError (`output-exists`) if the file is not exactly what an earlier run has written. Unlike `refuseChanged`, it does not
 * accept text that was appended since then.
 */
export async function refuseChangedWhole(path: string, written: Omit<Written, 'text'>): Promise<void> {
  const size = statOf(path)?.size ?? 0;
  if (size <= written.bytes) return refuseChanged(path, written);
  const message = `${path} has ${size} bytes, but ${written.bytes} were written: it has been changed since`;
  throw new AutomateError('output-exists', message, { code: 'output-changed', details: {} });
}

/** Returns the size and checksum of a file, reading no more than its first `maxBytes`. A missing file counts as empty. */
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

/**
 * Opens a file as a sink for text. In a gzipped file, every write adds a separate gzip member (RFC 1952, 2.2). The file can therefore be
 * read and truncated after each write.
 */
export async function openFileSink(path: string, options: FileSinkOptions): Promise<Sink> {
  return new DeviceSink(path, await openFileDevice(path, options), options.gzip, options.keep);
}

/** Opens a file for writing bytes. Throws an AutomateError (`output`) if the file cannot be opened. */
export async function openFileDevice(path: string, options: Omit<FileSinkOptions, 'gzip'> = {}): Promise<Device> {
  const handle = await namingErrors(path, 'written', () => openToWrite(path, options));
  const { space } = options;
  const write = async (bytes: Buffer) => {
    await space?.take(bytes.length, 'output');
    await writeAll(handle, bytes);
  };
  return { write, sync: () => syncFile(handle), close: () => handle.close() };
}

/** Opens a file for writing. Syncs the folder of a new file, because a crash could otherwise lose the file. */
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

/** Writes all bytes to a file. The write is repeated as often as necessary, because the system may write only some of the bytes at once. */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

/** Writes all bytes to a file, from the offset `at` on. */
export async function writeAt(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written, bytes.length - written, at + written)).bytesWritten;
  }
}

/** Syncs a file to disk. Ignores the errors that pipes and devices return, because they cannot be synced. */
async function syncFile(handle: FileHandle): Promise<void> {
  await handle.datasync().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
  });
}

/** Returns a sink that ignores all text, for a file that is already complete. */
export function createClosedSink(written: Written): Sink {
  return { written, write: async () => {}, sync: async () => {}, close: async () => {} };
}

/** Returns a sink that writes to a stream such as stdout. Closing the sink leaves the stream open. */
export function createStreamSink(stream: NodeJS.WritableStream, name: string, options: { readonly gzip: boolean }): Sink {
  return new DeviceSink(name, streamDevice(stream), options.gzip);
}

/** Returns a device that writes bytes to a stream such as stdout. */
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

/** A file or stream to which bytes are written. */
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
    // An empty file is not valid gzip. So one empty gzip member is written even if the output has no text.
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
