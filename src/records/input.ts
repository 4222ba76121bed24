import { closeSync, createReadStream, fstatSync, openSync, read } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { AutomateError } from '../core/failure.ts';
import { similarFile } from '../files/folder.ts';
import { statOf } from '../files/stat.ts';
import { ReadCheck } from './read-check.ts';
import { inputError } from './record-reader.ts';

export interface Input {
  readonly name: string;
  /** Undefined for a stream, whose size is unknown until its end. */
  readonly totalBytes: number | undefined;
  readonly isSeekable: boolean;
  readBytes(): number;
  /** A `start` other than 0 requires a seekable input. Throws an AutomateError (`input`) if the input cannot be read. */
  bytes(start: number): AsyncGenerator<Buffer>;
  /** Throws an AutomateError (`input`) if what was read was overwritten or cut off, except for pipes. Not to be called after `close`. */
  refuseChange(): void;
  /** A read that is still waiting for bytes fails. */
  close(): Promise<void>;
}

/** `-` is stdin. Throws an AutomateError (`input`) if the file does not exist or is a directory. */
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
  return { name, totalBytes: undefined, isSeekable: false, ...bytesOf(name, () => ({ stream: stdin, check: stdinCheck(stdin) })) };
}

/** Only if stdin is a regular file, as with `< rows.csv`. */
function stdinCheck(stdin: Readable & { readonly fd?: unknown }): ReadCheck | undefined {
  const { fd } = stdin;
  return typeof fd === 'number' && fstatSync(fd).isFile() ? new ReadCheck(fd, { startsAnywhere: true }) : undefined;
}

async function fileInput(path: string): Promise<Input> {
  const found = await stat(path).catch((error) => {
    throw readError(path, error);
  });
  if (found.isDirectory()) throw readError(path, { code: 'EISDIR' });
  // Only regular files have a size and can be read from any offset. Pipes and devices cannot.
  if (found.isFile()) return regularFile(path, found.size);
  const open = () => ({ stream: createReadStream(path, streamOptions), check: undefined });
  return { name: path, totalBytes: undefined, isSeekable: false, ...bytesOf(path, open) };
}

const streamOptions = { highWaterMark: 16_384 };

function regularFile(path: string, totalBytes: number): Input {
  let file: { readonly fd: number; readonly check: ReadCheck } | undefined;
  let stream: Readable | undefined;
  let closing: Promise<void> | undefined;
  const open = (start: number) => {
    file ??= openChecked(path);
    const { fd, check } = file;
    // The file stays open after its streams, so that it can be checked.
    const fs = { read, close: (_: number, done: () => void) => done() };
    stream = createReadStream(path, { ...streamOptions, fd, start, fs });
    return { stream, check };
  };
  const close = async () => {
    const read = stream?.destroy();
    // A read that is under way still uses the file. The stream is closed when the read has ended.
    if (read && !read.closed) await new Promise((resolve) => read.once('close', resolve));
    if (file) closeSync(file.fd);
  };
  return {
    ...{ name: path, totalBytes, isSeekable: true, ...bytesOf(path, open) },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function openChecked(path: string): { readonly fd: number; readonly check: ReadCheck } {
  const fd = openSync(path, 'r');
  return { fd, check: new ReadCheck(fd) };
}

/** The check is undefined if the input cannot be read twice. */
interface CheckedInput {
  readonly stream: Readable;
  readonly check: ReadCheck | undefined;
}

function bytesOf(name: string, open: (start: number) => CheckedInput): Pick<Input, 'readBytes' | 'bytes' | 'refuseChange' | 'close'> {
  let stream: Readable | undefined;
  let check: ReadCheck | undefined;
  let read = 0;
  return { readBytes: () => read, bytes, refuseChange: () => check?.refuseChange(name), close };

  async function* bytes(start: number): AsyncGenerator<Buffer> {
    try {
      ({ stream, check } = open(start));
      read = start;
      for await (const chunk of stream) {
        const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
        check?.add(read, bytes);
        read += bytes.length;
        yield bytes;
      }
      check?.ended(read);
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

/** For an input that cannot be opened or read. */
export function readError(name: string, error: unknown): AutomateError {
  const { code, message } = error as NodeJS.ErrnoException;
  const isAddress = /^https?:\/\//i.test(name);
  const similar = isAddress
    ? '\ndownload it first, or pipe it in: curl -s ADDRESS | automate ...'
    : code === 'ENOENT'
      ? similarFile(name)
      : '';
  return inputError(name, `${reasons[code ?? ''] ?? `cannot be read: ${message}`}${similar}`, { cause: error });
}
