import { type FileHandle, open, rm } from 'node:fs/promises';
import type { OutputSpace, SpaceUse } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { writeAt } from './sink.ts';

/** Characters of one SpilledText that stay in memory. */
export const maxHeld = 256 * 1024;

/** Characters of all SpilledTexts in memory. Above this limit, each one with more than `minWrite` characters is moved to disk. */
const maxHeldTogether = 4 * 1024 * 1024;
const minWrite = 8 * 1024;

/** Open temporary files. Once the limit is reached, several SpilledTexts share a file. */
const maxFiles = 32;

/** For error messages, in which users would not recognize the real path. */
const waitingRows = 'the temporary file for waiting rows';

/** Creates SpilledTexts, whose content moves from memory to temporary files when it becomes long. */
export class SpillFiles {
  readonly #newPath: () => string;
  readonly #space: OutputSpace | undefined;
  readonly #files: SharedFile[] = [];
  /** Characters that all SpilledTexts together keep in memory. */
  heldTogether = 0;

  /** `newPath` returns a path for a new temporary file. The file is unlinked as soon as it is open. */
  constructor(newPath: () => string, space?: OutputSpace) {
    this.#newPath = newPath;
    this.#space = space;
  }

  newText(use: SpaceUse = 'temporary'): SpilledText {
    return new SpilledText(this, use);
  }

  /** A new file until the maximum number is reached, and then the file that the fewest SpilledTexts share. */
  join(): SharedFile {
    const [emptiest] = this.#files.toSorted((a, b) => a.texts - b.texts);
    const file = emptiest && this.#files.length >= maxFiles ? emptiest : new SharedFile(this.#newPath(), this.#space);
    if (file !== emptiest) this.#files.push(file);
    file.texts++;
    return file;
  }

  leave(file: SharedFile): void {
    if (--file.texts > 0) return;
    this.#files.splice(this.#files.indexOf(file), 1);
    file.close();
  }
}

/** Stays in memory until it becomes long, and then moves to a temporary file, which is already unlinked. */
export class SpilledText {
  readonly #files: SpillFiles;
  readonly #use: SpaceUse;
  #waiting: string[] = [];
  #held = 0;
  #file: SharedFile | undefined;
  readonly #written: Slice[] = [];
  #isDropped = false;

  constructor(files: SpillFiles, use: SpaceUse) {
    this.#files = files;
    this.#use = use;
  }

  get held(): number {
    return this.#held;
  }

  /** Throws an AutomateError (`output`) if the temporary file cannot be written. */
  async add(text: string): Promise<void> {
    if (this.#isDropped || text === '') return;
    this.#waiting.push(text);
    this.#count(text.length);
    if (this.#held > maxHeld || (this.#files.heldTogether > maxHeldTogether && this.#held > minWrite)) await this.#write();
  }

  async *texts(): AsyncGenerator<string> {
    for (const slice of this.#written) yield await (this.#file as SharedFile).read(slice);
    yield* this.#waiting;
  }

  /** The temporary file is already unlinked, so nothing remains on disk, even if the process is killed. */
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
    this.#written.push(await this.#file.write(bytes, this.#use));
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

/** Bytes in a file, from one character boundary to another. */
export interface Slice {
  readonly at: number;
  readonly bytes: number;
}

class SharedFile {
  /** SpilledTexts that are using the file. */
  texts = 0;
  readonly #handle: Promise<FileHandle>;
  readonly #space: OutputSpace | undefined;
  #end = 0;

  constructor(path: string, space: OutputSpace | undefined) {
    this.#handle = openUnnamed(path);
    this.#space = space;
  }

  async write(bytes: Buffer, use: SpaceUse): Promise<Slice> {
    const at = this.#end;
    this.#end += bytes.length;
    await this.#space?.take(bytes.length, use);
    await namingErrors(waitingRows, 'written', async () => writeAt(await this.#handle, bytes, at));
    return { at, bytes: bytes.length };
  }

  read(slice: Slice): Promise<string> {
    return namingErrors(waitingRows, 'written', async () => readSlice(await this.#handle, slice));
  }

  close(): void {
    this.#space?.free(this.#end);
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

/** Throws an Error if the file ends within the range. */
export async function readSlice(handle: FileHandle, { at, bytes }: Slice): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await handle.read(buffer, done, bytes - done, at + done);
    if (bytesRead === 0) throw new Error('it ends too early');
    done += bytesRead;
  }
  return buffer.toString();
}
