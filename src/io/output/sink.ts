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
  /** Waits until the disk has it. */
  sync(): Promise<void>;
  close(): Promise<void>;
  readonly written: Written;
}

/** What a file holds. */
export interface Written {
  readonly bytes: number;
  /** CRC-32 of them all. */
  readonly crc: number;
}

/** How a file is opened. */
export interface FileSinkOptions {
  readonly gzip: boolean;
  /** Go on behind this and cut off the rest; absent for a new file. */
  readonly keep?: Written | undefined;
  /** Refuses a file that is there already: then somebody else has made it. */
  readonly isNew?: boolean;
  /** Goes on behind whatever is there. */
  readonly adds?: boolean;
}

const gzipped = promisify(gzip);

const nothing: Written = { bytes: 0, crc: 0 };

/** Whether a regular file is at a path. Devices and pipes are there by nature, and nothing in them can be overwritten. */
export function isRegularFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

/** Refuses a path at which a file already is: overwriting is said, not assumed. */
export async function refuseExisting(path: string, mend: string): Promise<void> {
  if (isRegularFile(path)) throw new AutomateError('output-exists', `${path} exists already\n${mend}`);
}

/** Refuses to go on with a file that is not as it was left. Throws an AutomateError (`output-exists`). */
export async function refuseChanged(path: string, { bytes, crc }: Written): Promise<void> {
  if (bytes === 0) return;
  const found = await writtenIn(path, bytes);
  if (found.bytes === bytes && found.crc === crc) return;
  const what = found.bytes < bytes ? `holds ${found.bytes} bytes, and ${bytes} were written` : 'does not hold what was written';
  throw new AutomateError('output-exists', `${path} ${what}: it was changed since\nbring back what it was, or start over with --force`);
}

/** The beginning of a file, as far as it goes. A file that is not there holds nothing. */
async function writtenIn(path: string, atMost: number): Promise<Written> {
  let [bytes, crc] = [0, 0];
  const read = async () => {
    for await (const chunk of createReadStream(path, { end: atMost - 1, highWaterMark: 1024 * 1024 })) {
      bytes += chunk.length;
      crc = crc32(chunk, crc);
    }
  };
  await namingErrors(path, 'written', () =>
    read().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    }),
  );
  return { bytes, crc };
}

/** Opens a file. Every write of a gzipped one is a gzip member of its own (RFC 1952, 2.2): what is on disk can be read, and cut behind any. */
export async function openFileSink(path: string, options: FileSinkOptions): Promise<Sink> {
  const handle = await namingErrors(path, 'written', () => opened(path, options));
  let written = options.keep ?? nothing;
  return {
    get written() {
      return written;
    },
    async write(text) {
      if (text === '' && !isFirstOf(options, written)) return;
      const packed = await bytesOf(text, options);
      await namingErrors(path, 'written', () => writeAll(handle, packed));
      written = { bytes: written.bytes + packed.length, crc: crc32(packed, written.crc) };
    },
    sync: () => namingErrors(path, 'written', () => synced(handle)),
    close: () => namingErrors(path, 'written', () => handle.close()),
  };
}

/** What is on disk under a new name is found again only when its folder is on disk, too. */
async function opened(path: string, { keep, isNew, adds }: FileSinkOptions): Promise<FileHandle> {
  if (isNoFile(path)) return open(path, 'w');
  if (keep) {
    const handle = await open(path, 'a', 0o666);
    await handle.truncate(keep.bytes);
    return handle;
  }
  const handle = await open(path, adds ? 'a' : isNew ? 'wx' : 'w', 0o666);
  await syncFolder(path);
  return handle;
}

/** Without any member a file is no gzip: what holds nothing has an empty one. */
function isFirstOf({ gzip }: { readonly gzip: boolean }, { bytes }: Written): boolean {
  return gzip && bytes === 0;
}

async function bytesOf(text: string, { gzip }: { readonly gzip: boolean }): Promise<Buffer> {
  return gzip ? gzipped(text) : Buffer.from(text);
}

/** A write may take a part only. */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

/** A pipe or a device cannot be synced, and need not be. */
async function synced(handle: FileHandle): Promise<void> {
  await handle.datasync().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EINVAL' && error.code !== 'ENOTSUP') throw error;
  });
}

/** A sink on a stream such as stdout, which stays open. */
export function createStreamSink(stream: NodeJS.WritableStream, name: string, options: { readonly gzip: boolean }): Sink {
  let written = nothing;
  let broken: Error | undefined;
  stream.on('error', (error) => {
    broken = error;
  });
  return {
    get written() {
      return written;
    },
    async write(text) {
      if (text === '' && !isFirstOf(options, written)) return;
      const packed = await bytesOf(text, options);
      written = { bytes: written.bytes + packed.length, crc: 0 };
      const write = () =>
        new Promise<void>((resolve, reject) => {
          if (broken) reject(broken);
          else stream.write(packed, (error) => (error ? reject(error) : resolve()));
        });
      await namingErrors(name, 'written', write);
    },
    sync: async () => {},
    close: async () => {},
  };
}
