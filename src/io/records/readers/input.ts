import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { AutomateError } from '../../../core/failure.ts';
import { statOf } from '../../files/stat.ts';
import { inputError } from './record-reader.ts';

/** A file or stream of bytes. */
export interface Input {
  /** The name in messages. */
  readonly name: string;
  /** The size; absent if it is known only after reading to the end. */
  readonly totalBytes: number | undefined;
  readonly isSeekable: boolean;
  /** The number of bytes read. */
  readBytes(): number;
  /** The bytes from an offset on, which is 0 unless the input is seekable. Throws an AutomateError (`input`). */
  bytes(start: number): AsyncGenerator<Buffer>;
  /** Stops reading at once: a pending read throws. */
  close(): Promise<void>;
}

/** Opens a file, or stdin if the path is `-`. Throws an AutomateError (`input`). */
export async function openInput(path: string, stdin: NodeJS.ReadableStream, stdinName = '<stdin>'): Promise<Input> {
  return path === '-' ? streamInput(stdin as Readable, stdinName) : fileInput(path);
}

/** Throws an AutomateError (`input`) if there is no file with that name. */
export function refuseMissing(path: string): void {
  const found = statOf(path);
  if (!found) throw readError(path, { code: 'ENOENT' });
  if (found.isDirectory()) throw readError(path, { code: 'EISDIR' });
}

function streamInput(stdin: Readable, name: string): Input {
  return { name, totalBytes: undefined, isSeekable: false, ...bytesOf(name, () => stdin) };
}

async function fileInput(path: string): Promise<Input> {
  const found = await stat(path).catch((error) => {
    throw readError(path, error);
  });
  if (found.isDirectory()) throw readError(path, { code: 'EISDIR' });
  // A pipe or a device has neither size nor offsets.
  const isSeekable = found.isFile();
  const open = (start: number) => createReadStream(path, { highWaterMark: 16_384, ...(start > 0 && { start }) });
  return { name: path, totalBytes: isSeekable ? found.size : undefined, isSeekable, ...bytesOf(path, open) };
}

function bytesOf(name: string, open: (start: number) => Readable): Pick<Input, 'readBytes' | 'bytes' | 'close'> {
  let stream: Readable | undefined;
  let read = 0;
  return { readBytes: () => read, bytes, close };

  async function* bytes(start: number): AsyncGenerator<Buffer> {
    stream = open(start);
    read = start;
    try {
      for await (const chunk of stream) {
        const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
        read += bytes.length;
        yield bytes;
      }
    } catch (error) {
      throw readError(name, error);
    }
  }

  async function close(): Promise<void> {
    stream?.destroy();
  }
}

const reasons: Record<string, string> = {
  ENOENT: 'expected a file, found none of this name',
  ENOTDIR: 'expected a file, found none of this name',
  EISDIR: 'expected a file, found a directory',
  EACCES: 'expected a file that may be read, found one without that permission',
};

/** The error for an input that cannot be read. */
export function readError(name: string, error: unknown): AutomateError {
  const { code, message } = error as NodeJS.ErrnoException;
  return inputError(name, reasons[code ?? ''] ?? `cannot be read: ${message}`, { cause: error });
}
