import { type FileHandle, open, rm } from 'node:fs/promises';
import { namingErrors } from '../files/naming-errors.ts';

/** Text that waits for its turn, in memory or, when it is long, in a file that nobody else sees. */
export interface SpilledText {
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
export interface SpillFiles {
  part(): SpilledText;
}

/** One part in memory may be so long, in characters, */
const mostHeld = 256 * 1024;
/** ... and less when all are so long together; then what is shorter than the last is not worth a write. */
const mostHeldTogether = 4 * 1024 * 1024;
const worthWriting = 8 * 1024;

/** So many files are open at most: parts beyond that share them. */
const mostFiles = 32;

/** The name in messages: the file has none of its own. */
const waitingRows = 'the temporary file for waiting rows';

/** A file of parts. */
interface SharedFile {
  readonly handle: Promise<FileHandle>;
  /** Where the next text goes. */
  end: number;
  /** How many parts are in it. */
  parts: number;
}

/** Makes places for text. `pathOf`: a new file's path; the file loses its name as soon as it is open. */
export function createSpillFiles(pathOf: () => string): SpillFiles {
  const files: SharedFile[] = [];
  let together = 0;
  return { part };

  /** A new one, or the one with the fewest parts. */
  function fileForPart(): SharedFile {
    const [least] = files.toSorted((a, b) => a.parts - b.parts);
    const file = least && files.length >= mostFiles ? least : { handle: nameless(pathOf()), end: 0, parts: 0 };
    if (file !== least) files.push(file);
    file.parts++;
    return file;
  }

  function leave(file: SharedFile): void {
    if (--file.parts > 0) return;
    files.splice(files.indexOf(file), 1);
    void file.handle.then((handle) => handle.close()).catch(() => undefined);
  }

  function part(): SpilledText {
    let waiting: string[] = [];
    let held = 0;
    let file: SharedFile | undefined;
    /** Where in the file its texts are: each ends with a whole character. */
    const written: { readonly at: number; readonly bytes: number }[] = [];
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
        for (const { at, bytes } of written)
          yield await namingErrors(waitingRows, 'written', async () => readAt(await (file as SharedFile).handle, at, bytes));
        yield* waiting;
      },
      drop() {
        if (isDropped) return;
        isDropped = true;
        forget();
        if (file) leave(file);
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
      file ??= fileForPart();
      const at = file.end;
      file.end += bytes.length;
      const { handle: opening } = file;
      const handle = await namingErrors(waitingRows, 'written', () => opening);
      for (let done = 0; done < bytes.length; ) {
        const write = () => handle.write(bytes, done, bytes.length - done, at + done);
        done += (await namingErrors(waitingRows, 'written', write)).bytesWritten;
      }
      written.push({ at, bytes: bytes.length });
    }
  }
}

async function nameless(path: string): Promise<FileHandle> {
  const handle = await open(path, 'wx+', 0o600);
  try {
    await rm(path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Text of a file that ends with a whole character. Throws an Error when the file is shorter. */
export async function readAt(handle: FileHandle, position: number, bytes: number): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await handle.read(buffer, done, bytes - done, position + done);
    if (bytesRead === 0) throw new Error('it ends too early');
    done += bytesRead;
  }
  return buffer.toString();
}
