import { type FileHandle, open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import { reasonOf } from '../reason.ts';

/** A file or stream that text is appended to. Every call may throw an AutomateError (`output`, `stdout-closed`). */
export interface Sink {
  write(text: string): Promise<void>;
  /** Waits until the disk has it. */
  sync(): Promise<void>;
  close(): Promise<void>;
  /** How long the file is. */
  readonly bytes: number;
}

/** How a file is opened. */
export interface FileSinkOptions {
  readonly gzip: boolean;
  /** Go on behind so many bytes and cut off the rest; absent for a new file. */
  readonly keepBytes?: number | undefined;
  /** Refuses a file that is there already: then somebody else has made it. */
  readonly isNew?: boolean;
}

const gzipped = promisify(gzip);

/** Whether a regular file is at a path. Devices and pipes are there by nature, and nothing in them can be overwritten. */
export async function isRegularFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ?? false;
}

/** Refuses a path at which a file already is: overwriting is said, not assumed. */
export async function refuseExisting(path: string, mend: string): Promise<void> {
  if (await isRegularFile(path)) throw new AutomateError('output-exists', `${path} exists already\n${mend}`);
}

/** Opens a file. Every write of a gzipped one is a gzip member of its own (RFC 1952, 2.2): what is on disk can be read, and cut behind any. */
export async function openFileSink(path: string, options: FileSinkOptions): Promise<Sink> {
  const told = telling(path);
  const handle = await told(opened(path, options));
  let bytes = options.keepBytes ?? 0;
  return {
    get bytes() {
      return bytes;
    },
    async write(text) {
      if (text === '') return;
      const packed = options.gzip ? await gzipped(text) : Buffer.from(text);
      await told(writeAll(handle, packed));
      bytes += packed.length;
    },
    sync: () => told(synced(handle)),
    close: () => told(handle.close()),
  };
}

/** Whether a device or a pipe is there. */
async function isOther(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && !found.isFile();
}

async function opened(path: string, { keepBytes, isNew }: FileSinkOptions): Promise<FileHandle> {
  if (keepBytes === undefined) return open(path, isNew && !(await isOther(path)) ? 'wx' : 'w', 0o666);
  const handle = await open(path, 'a', 0o666);
  await handle.truncate(keepBytes);
  return handle;
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
  const told = telling(name);
  let bytes = 0;
  let broken: Error | undefined;
  stream.on('error', (error) => {
    broken = error;
  });
  return {
    get bytes() {
      return bytes;
    },
    async write(text) {
      if (text === '') return;
      const packed = options.gzip ? await gzipped(text) : Buffer.from(text);
      bytes += packed.length;
      await told(
        new Promise<void>((resolve, reject) => {
          if (broken) reject(broken);
          else stream.write(packed, (error) => (error ? reject(error) : resolve()));
        }),
      );
    },
    sync: async () => {},
    close: async () => {},
  };
}

/** Says of every error which file or stream it is about. */
function telling(name: string): <Result>(act: Promise<Result>) => Promise<Result> {
  return (act) =>
    act.catch((error: NodeJS.ErrnoException) => {
      if (['EPIPE', 'ERR_STREAM_DESTROYED'].includes(error.code ?? '')) throw new AutomateError('stdout-closed', `${name} was closed`);
      throw new AutomateError('output', `${name} cannot be written: ${reasonOf(error)}`, { cause: error });
    });
}
