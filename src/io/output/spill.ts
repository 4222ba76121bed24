import { type FileHandle, open, rm } from 'node:fs/promises';
import { namingErrors } from '../files/naming-errors.ts';

/** Characters that one text may hold in memory. */
const maxHeld = 256 * 1024;

/** Characters that all texts together may hold in memory. Above this limit, texts with more than `minWrite` characters are written. */
const maxHeldTogether = 4 * 1024 * 1024;
const minWrite = 8 * 1024;

/** Open files. Further texts share them. */
const maxFiles = 32;

/** The subject of messages about these files: users do not know their names. */
const waitingRows = 'the temporary file for waiting rows';

/** Creates texts that spill to disk when they are long. */
export class SpillFiles {
  readonly #newPath: () => string;
  readonly #files: SharedFile[] = [];
  /** Characters that all texts hold in memory. */
  heldTogether = 0;

  /** `newPath`: a path for a new file, which loses its name once it is open. */
  constructor(newPath: () => string) {
    this.#newPath = newPath;
  }

  newText(): SpilledText {
    return new SpilledText(this);
  }

  /** A share in a new file, or in the file with the fewest texts. */
  join(): SharedFile {
    const [emptiest] = this.#files.toSorted((a, b) => a.texts - b.texts);
    const file = emptiest && this.#files.length >= maxFiles ? emptiest : new SharedFile(this.#newPath());
    if (file !== emptiest) this.#files.push(file);
    file.texts++;
    return file;
  }

  /** Gives a share back. The last share closes the file. */
  leave(file: SharedFile): void {
    if (--file.texts > 0) return;
    this.#files.splice(this.#files.indexOf(file), 1);
    file.close();
  }
}

/** A text in memory, or, when it is long, in a file without a name. */
export class SpilledText {
  readonly #files: SpillFiles;
  #waiting: string[] = [];
  #held = 0;
  #file: SharedFile | undefined;
  readonly #written: Slice[] = [];
  #isDropped = false;

  constructor(files: SpillFiles) {
    this.#files = files;
  }

  /** Characters in memory. */
  get held(): number {
    return this.#held;
  }

  /** Appends. Throws an AutomateError (`output`) if the text cannot be written. */
  async add(text: string): Promise<void> {
    if (this.#isDropped || text === '') return;
    this.#waiting.push(text);
    this.#count(text.length);
    if (this.#held > maxHeld || (this.#files.heldTogether > maxHeldTogether && this.#held > minWrite)) await this.#write();
  }

  /** The text in its order, in pieces. */
  async *texts(): AsyncGenerator<string> {
    for (const slice of this.#written) yield await (this.#file as SharedFile).read(slice);
    yield* this.#waiting;
  }

  /** Discards the text. Its file leaves nothing on disk, even if the process is killed. */
  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.#forget();
    if (this.#file) this.#files.leave(this.#file);
  }

  async #write(): Promise<void> {
    const bytes = Buffer.from(this.#waiting.join(''));
    this.#forget();
    this.#file ??= this.#files.join();
    this.#written.push(await this.#file.write(bytes));
  }

  #forget(): void {
    this.#waiting = [];
    this.#count(-this.#held);
  }

  #count(characters: number): void {
    this.#held += characters;
    this.#files.heldTogether += characters;
  }
}

/** A place in a file. Starts and ends with a whole character. */
export interface Slice {
  readonly at: number;
  readonly bytes: number;
}

/** A file in which several texts lie. */
class SharedFile {
  /** The number of texts that use it. */
  texts = 0;
  readonly #handle: Promise<FileHandle>;
  #end = 0;

  constructor(path: string) {
    this.#handle = openUnnamed(path);
  }

  async write(bytes: Buffer): Promise<Slice> {
    const at = this.#end;
    this.#end += bytes.length;
    await namingErrors(waitingRows, 'written', async () => {
      const handle = await this.#handle;
      for (let done = 0; done < bytes.length; ) {
        done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      }
    });
    return { at, bytes: bytes.length };
  }

  read(slice: Slice): Promise<string> {
    return namingErrors(waitingRows, 'written', async () => readSlice(await this.#handle, slice));
  }

  close(): void {
    void this.#handle.then((handle) => handle.close()).catch(() => undefined);
  }
}

async function openUnnamed(path: string): Promise<FileHandle> {
  const handle = await open(path, 'wx+', 0o600);
  try {
    await rm(path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads text. Throws an Error if the file is shorter. */
export async function readSlice(handle: FileHandle, { at, bytes }: Slice): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await handle.read(buffer, done, bytes - done, at + done);
    if (bytesRead === 0) throw new Error('it ends too early');
    done += bytesRead;
  }
  return buffer.toString();
}
