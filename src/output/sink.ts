import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, gzip } from 'node:zlib';
import { AutomateError } from '../core/failure.ts';
import { type OutputSpace, syncFolder } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { isNoFile, statOf } from '../files/stat.ts';

/** Text is appended. Methods throw an AutomateError, `stdout-closed` for a closed stdout and otherwise `output`. */
export interface Sink {
  write(text: string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
  readonly written: Written;
}

/** The output that a run has written to a file. A later run compares this with the file to detect changes by others. */
export interface Written {
  readonly bytes: number;
  readonly crc: number;
  /** Bytes of uncompressed text. For a gzipped file and a workbook, this is not the size of the file. */
  readonly text: number;
}

export const nothingWritten: Written = { bytes: 0, crc: 0, text: 0 };

export interface FileSinkOptions {
  readonly gzip: boolean;
  /** The existing content to keep; everything after it is cut off. Undefined for a new file. */
  readonly keep?: Written;
  /** True to fail if the file exists. Only another process can have created it at this point. */
  readonly isNew?: boolean;
  readonly appends?: boolean;
  readonly space?: OutputSpace;
}

const gzipped = promisify(gzip);

/** False for devices and pipes, because writing to them overwrites nothing. */
export function isRegularFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

/** Throws an AutomateError (`output-exists`). */
export async function refuseExisting(path: string, of: 'out' | 'errors'): Promise<void> {
  if (isRegularFile(path)) throw new AutomateError('output-exists', `${path} exists already`, { code: 'output-exists', details: { of } });
}

/** Throws an AutomateError (`output-exists`) if the file does not begin with what an earlier run has written. */
export async function refuseChanged(path: string, { bytes, crc }: Omit<Written, 'text'>): Promise<void> {
  if (bytes === 0) return;
  const found = await readWritten(path, bytes);
  if (found.bytes === bytes && found.crc === crc) return;
  const what = found.bytes < bytes ? `has ${found.bytes} bytes, but ${bytes} were written` : 'does not contain what was written';
  const message = statOf(path) ? `${path} ${what}: it has been changed since` : `${path} is gone`;
  throw new AutomateError('output-exists', message, { code: 'output-changed', details: {} });
}

/** Like `refuseChanged`, throws an AutomateError (`output-exists`), but does not accept text that was appended since. */
export async function refuseChangedWhole(path: string, written: Omit<Written, 'text'>): Promise<void> {
  const size = statOf(path)?.size ?? 0;
  if (size <= written.bytes) return refuseChanged(path, written);
  const message = `${path} has ${size} bytes, but ${written.bytes} were written: it has been changed since`;
  throw new AutomateError('output-exists', message, { code: 'output-changed', details: {} });
}

/** Reads no more than the first `maxBytes`. A missing file counts as empty. */
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

/** In a gzipped file, every write adds a separate gzip member (RFC 1952, 2.2), so the file can be read and truncated after each. */
export async function openFileSink(path: string, options: FileSinkOptions): Promise<Sink> {
  return new DeviceSink(path, await openFileDevice(path, options), options.gzip, options.keep);
}

/** Throws an AutomateError (`output`) if the file cannot be opened. */
export async function openFileDevice(path: string, options: Omit<FileSinkOptions, 'gzip'> = {}): Promise<Device> {
  const handle = await namingErrors(path, 'written', () => openToWrite(path, options));
  const { space } = options;
  const write = async (bytes: Buffer) => {
    await space?.take(bytes.length, 'output');
    await writeAll(handle, bytes);
  };
  return { write, sync: () => syncFile(handle), close: () => handle.close() };
}

/** Syncs the folder of a new file, because a crash could otherwise lose the file. */
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

/** Repeats the write as necessary, because the system may write only some of the bytes at once. */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

export async function writeAt(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written, bytes.length - written, at + written)).bytesWritten;
  }
}

/** Ignores the errors of pipes and devices, which cannot be synced. */
async function syncFile(handle: FileHandle): Promise<void> {
  await handle.datasync().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
  });
}

/** Ignores all text, for a file that is already complete. */
export function createClosedSink(written: Written): Sink {
  return { written, write: async () => {}, sync: async () => {}, close: async () => {} };
}

/** For a stream such as stdout, which stays open when the sink is closed. */
export function createStreamSink(stream: NodeJS.WritableStream, name: string, options: { readonly gzip: boolean }): Sink {
  return new DeviceSink(name, streamDevice(stream), options.gzip);
}

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
