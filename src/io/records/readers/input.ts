import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { AutomateError } from '../../../core/failure.ts';
import { similarFile } from '../../files/similar-file.ts';
import { statOf } from '../../files/stat.ts';
import { inputError } from './record-reader.ts';

/** A file or stream that is read as an input. */
export interface Input {
  /** The name of the input in messages. */
  readonly name: string;
  /** The size of the input in bytes; undefined for a stream, whose size is unknown until its end. */
  readonly totalBytes: number | undefined;
  readonly isSeekable: boolean;
  /** Returns the number of bytes that have been read so far. */
  readBytes(): number;
  /**
   * Yields the bytes from an offset to the end. An offset other than 0 requires a seekable input. Throws an AutomateError (`input`) if the
   * input cannot be read.
   */
  bytes(start: number): AsyncGenerator<Buffer>;
  /** Stops reading immediately. A read that is still waiting for bytes fails. */
  close(): Promise<void>;
}

/**
 * Opens a file as an input, or stdin if the path is `-`. Throws an AutomateError (`input`) if the file does not exist or is a directory.
 */
export async function openInput(path: string, stdin: NodeJS.ReadableStream, stdinName = '<stdin>'): Promise<Input> {
  return path === '-' ? streamInput(stdin as Readable, stdinName) : fileInput(path);
}

/** Throws an AutomateError (`input`) if the file does not exist or is a directory. */
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
  // Only regular files have a size and can be read from any offset. Pipes and devices cannot.
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
  ENOENT: 'expected a file, found none with this name',
  ENOTDIR: 'expected a file, found none with this name',
  EISDIR: 'expected a file, found a directory',
  EACCES: 'expected a readable file, found one without read permission',
};

/** Returns the error for an input that cannot be opened or read. */
export function readError(name: string, error: unknown): AutomateError {
  const { code, message } = error as NodeJS.ErrnoException;
  const similar = code === 'ENOENT' ? similarFile(name) : '';
  return inputError(name, `${reasons[code ?? ''] ?? `cannot be read: ${message}`}${similar}`, { cause: error });
}
