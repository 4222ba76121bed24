import { type FileHandle, open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';

/** A file or stream that text is appended to. */
export interface Sink {
  /** Takes text, in memory. */
  append(text: string): void;
  /** Characters taken and not yet written. */
  readonly waiting: number;
  /** Writes what was taken. Throws an AutomateError (`output`, `stdout-closed`). */
  flush(): Promise<void>;
  /** Flushes and closes. */
  close(): Promise<void>;
}

const gzipped = promisify(gzip);

/** Refuses a path at which a file already is: overwriting is said, not assumed. Devices and pipes are there by nature. */
export async function refuseExisting(path: string, mend: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) throw new AutomateError('output-exists', `${path} exists already\n${mend}`);
}

/** Opens a new file. Every flush of a gzipped file is a gzip member of its own (RFC 1952, 2.2): what is on disk can always be read. */
export async function openFileSink(path: string, options: { readonly gzip: boolean }): Promise<Sink> {
  const handle = await open(path, 'w', 0o666).catch((error: Error) => {
    throw outputError(path, error);
  });
  return createSink(
    async (text) => writeAll(handle, options.gzip ? await gzipped(text) : Buffer.from(text)),
    () => handle.close(),
    (error) => outputError(path, error),
  );
}

/** A write may take a part only. */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

/** A sink on a stream such as stdout, which stays open. */
export function createStreamSink(stream: NodeJS.WritableStream, name: string, options: { readonly gzip: boolean }): Sink {
  let broken: Error | undefined;
  stream.on('error', (error) => {
    broken = error;
  });
  return createSink(
    async (text) => {
      const bytes = options.gzip ? await gzipped(text) : text;
      await new Promise<void>((resolve, reject) => {
        if (broken) return reject(broken);
        stream.write(bytes, (error) => (error ? reject(error) : resolve()));
        return undefined;
      });
    },
    async () => {},
    (error) => (isClosedPipe(error) ? new AutomateError('stdout-closed', `${name} was closed`) : outputError(name, error)),
  );
}

function isClosedPipe(error: Error): boolean {
  return ['EPIPE', 'ERR_STREAM_DESTROYED', 'ECONNRESET'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function outputError(path: string, error: Error): AutomateError {
  return new AutomateError('output', `${path} cannot be written: ${error.message}`, { cause: error });
}

function createSink(write: (text: string) => Promise<void>, end: () => Promise<void>, explain: (error: Error) => AutomateError): Sink {
  let texts: string[] = [];
  let waiting = 0;
  return {
    append(text) {
      if (text === '') return;
      texts.push(text);
      waiting += text.length;
    },
    get waiting() {
      return waiting;
    },
    flush,
    async close() {
      await flush();
      await end().catch((error: Error) => {
        throw explain(error);
      });
    },
  };

  async function flush(): Promise<void> {
    if (texts.length === 0) return;
    const text = texts.join('');
    texts = [];
    waiting = 0;
    await write(text).catch((error: Error) => {
      throw explain(error);
    });
  }
}
