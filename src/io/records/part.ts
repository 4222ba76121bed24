import { type FileHandle, open, rm } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { reasonOf } from '../reason.ts';

/** Text that waits for its turn, in memory or, when it is long, in a file that nobody else sees. */
export interface TextPart {
  /** Characters in memory. */
  readonly held: number;
  /** Throws an AutomateError (`output`) when it cannot be kept. */
  add(text: string): Promise<void>;
  /** The text in its order. */
  texts(): AsyncIterable<string>;
  /** Forgets it. Nothing is left behind, not even when the process is killed. */
  drop(): void;
}

/** Where text waits. */
export interface TextParts {
  part(): TextPart;
}

/** One part in memory may be so long, in characters, */
const mostHeld = 256 * 1024;
/** ... and less when all are so long together; then what is shorter than the last is not worth a write. */
const mostHeldTogether = 4 * 1024 * 1024;
const worthWriting = 8 * 1024;

/** Makes places for text. `pathOf`: a new file's path; the file loses its name as soon as it is open. */
export function createTextParts(pathOf: () => string): TextParts {
  let together = 0;
  return { part };

  function part(): TextPart {
    let waiting: string[] = [];
    let held = 0;
    let file: Promise<FileHandle> | undefined;
    /** How many bytes each write took: a write ends with a whole character. */
    const written: number[] = [];
    let isDropped = false;
    return {
      get held() {
        return held;
      },
      async add(text) {
        if (isDropped || text === '') return;
        waiting.push(text);
        count(text.length);
        if (held > mostHeld || (together > mostHeldTogether && held > worthWriting)) await write();
      },
      async *texts() {
        let position = 0;
        for (const bytes of written) {
          yield await told(readAt(await (file as Promise<FileHandle>), position, bytes));
          position += bytes;
        }
        yield* waiting;
      },
      drop() {
        if (isDropped) return;
        isDropped = true;
        forget();
        void file?.then((handle) => handle.close()).catch(() => undefined);
      },
    };

    function count(characters: number): void {
      held += characters;
      together += characters;
    }

    function forget(): void {
      waiting = [];
      count(-held);
    }

    async function write(): Promise<void> {
      const bytes = Buffer.from(waiting.join(''));
      forget();
      file ??= nameless(pathOf());
      const handle = await told(file);
      for (let done = 0; done < bytes.length; ) done += (await told(handle.write(bytes, done))).bytesWritten;
      written.push(bytes.length);
    }
  }
}

async function nameless(path: string): Promise<FileHandle> {
  const handle = await open(path, 'wx+', 0o600);
  await rm(path);
  return handle;
}

async function readAt(handle: FileHandle, position: number, bytes: number): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await handle.read(buffer, done, bytes - done, position + done);
    if (bytesRead === 0) throw new Error('it ends too early');
    done += bytesRead;
  }
  return buffer.toString();
}

async function told<Result>(act: Promise<Result>): Promise<Result> {
  return act.catch((error: NodeJS.ErrnoException) => {
    throw new AutomateError('output', `records that wait for their turn cannot be written to a file: ${reasonOf(error)}`, { cause: error });
  });
}
