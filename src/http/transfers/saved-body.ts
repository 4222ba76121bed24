import { constants, type Stats } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { SavedFile } from '../../core/transfer.ts';
import { systemReason } from '../../files/naming-errors.ts';
import { compressionsIn } from '../decompress.ts';
import { openPath, PathRefused } from './files-folder.ts';

export interface SavePlace {
  /** The path as it is written in the flow or record, for messages. */
  readonly shown: string;
  /** The real path of the file to save. */
  readonly path: string;
  readonly replaces: boolean;
  /** A trial run saves no files. */
  readonly isTrial: boolean;
  /** Throws a PathRefused if records may not save where the open temporary file is. `at` is its real path. */
  refuseOpen(handle: FileHandle, at: string): Promise<void>;
  /** Called just before the complete file is moved to its path. */
  note(bytes: number): Promise<void>;
  /** Undoes `note`, because the file could not be moved to its path. */
  takeBack(): Promise<void>;
}

export interface BodyFacts {
  readonly status: number;
  /** Undefined if the body is not compressed. */
  readonly encodings: string | undefined;
}

/** Writes to a temporary file, which is moved when complete. After a crash, it stays until the next attempt at this path replaces it. */
export class SavedBody {
  readonly #place: SavePlace;
  readonly #facts: BodyFacts;
  readonly #input = new PassThrough();
  readonly #written: Promise<SavedFile>;

  constructor(place: SavePlace, facts: BodyFacts) {
    this.#place = place;
    this.#facts = facts;
    // The stream may be aborted before anything reads from it. Without a listener, its error would then end the process.
    this.#input.on('error', () => undefined);
    this.#written = this.#write();
    this.#written.catch(() => undefined);
  }

  /** If it returns false, the caller should wait for `drained` before it writes the next chunk. */
  write(chunk: Buffer, drained: () => void): boolean {
    if (this.#input.destroyed || this.#input.write(chunk)) return true;
    this.#input.once('drain', drained);
    return false;
  }

  /** Resolves once the file is at its path. Rejects with a Failure, or with an AutomateError (`output`) if the disk is full. */
  end(): Promise<SavedFile> {
    this.#input.end();
    return this.#written;
  }

  onFailure(failed: (error: unknown) => void): void {
    this.#written.catch(failed);
  }

  /** Resolves once writing has stopped, whether or not the file was saved. */
  async settled(): Promise<void> {
    await this.#written.catch(() => undefined);
  }

  /** Stops writing and removes the temporary file. */
  abort(): void {
    this.#input.destroy(new Error('given up'));
  }

  async #write(): Promise<SavedFile> {
    const { shown, isTrial } = this.#place;
    if (isTrial) return { path: shown, bytes: await this.#copyTo(new Writable({ write: (_chunk, _encoding, done) => done() })) };
    try {
      const part = await openPart(this.#place.path);
      try {
        await this.#place.refuseOpen(part.handle, part.path);
        const bytes = await this.#copyTo(streamInto(part.handle));
        await part.handle.datasync();
        await this.#publish(part, bytes);
        return { path: shown, bytes };
      } finally {
        await part.remove();
        await part.handle.close();
      }
    } catch (error) {
      throw saveError(shown, error);
    }
  }

  async #copyTo(target: Writable): Promise<number> {
    const { status, encodings } = this.#facts;
    let bytes = 0;
    const counter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.length;
        done(null, chunk);
      },
    });
    const streams: (Transform | Writable)[] = [this.#input, ...decodersOf(encodings, status), counter, target];
    await pipeline(streams as NodeJS.ReadWriteStream[]);
    return bytes;
  }

  async #publish(part: PartFile, bytes: number): Promise<void> {
    const { path, shown, replaces, note, takeBack } = this.#place;
    if (!(await part.isOurs())) throw new Failure('output', `another process is saving "${shown}"`);
    await note(bytes);
    try {
      await (replaces ? rename(part.path, path) : linkTo(part.path, path));
    } catch (error) {
      await takeBack();
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? existing(shown) : error;
    }
  }
}

/** A temporary file in the same folder as the file to save. */
interface PartFile {
  readonly path: string;
  readonly handle: FileHandle;
  /** Resolves to true if the file at the temporary path is still the one that this process has opened. */
  isOurs(): Promise<boolean>;
  /** Removes the temporary file, unless another process has replaced it. */
  remove(): Promise<void>;
}

async function openPart(place: string): Promise<PartFile> {
  const asked = join(dirname(place), `.${basename(place)}.automate-part`);
  await rm(asked, { force: true });
  const handle = await open(asked, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  const path = await openPath(handle, asked);
  const opened = await handle.stat();
  const isOurs = async () => {
    const found = await lstat(path).catch(() => undefined);
    return found !== undefined && isSameFile(found, opened);
  };
  return {
    path,
    handle,
    isOurs,
    async remove() {
      if (await isOurs()) await rm(path, { force: true });
    },
  };
}

/** Node's own stream for a FileHandle is not used, because the handle could then not be closed. */
function streamInto(handle: FileHandle): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      handle.appendFile(chunk).then(() => done(), done);
    },
  });
}

function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** Error codes of file systems that do not support hard links, or not for this file. */
const linkless = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'];

/** Creates a hard link. Unlike a rename, it fails if a file exists at the final path. The caller removes the temporary path. */
async function linkTo(part: string, place: string): Promise<void> {
  try {
    await link(part, place);
  } catch (error) {
    if (!linkless.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    if (await lstat(place).catch(() => undefined)) throw Object.assign(new Error('EEXIST'), { code: 'EEXIST' });
    await rename(part, place);
  }
}

function decodersOf(encodings = '', status: number): Transform[] {
  const names = compressionsIn(encodings);
  return names.reverse().map((name) => {
    if (name === 'gzip' || name === 'x-gzip') return createGunzip();
    if (name === 'deflate') return createInflate();
    if (name === 'br') return createBrotliDecompress();
    throw new Failure('parse', `expected the content encoding gzip, deflate or br, found "${encodings}"`, { status });
  });
}

export function existing(shown: string): Failure {
  return new Failure('output', `the file "${shown}" exists, and replace: true is not set`, { sent: false });
}

/** Error codes that every other file would cause, too, for example because the disk is full. */
const fullDisk = ['ENOSPC', 'EDQUOT', 'EIO'];

/** If the disk is full, this is an AutomateError, which ends the run. Otherwise, it is a Failure, which fails the record. */
export function saveError(shown: string, error: unknown): Error {
  if (error instanceof Failure || error instanceof AutomateError) return error;
  if (error instanceof PathRefused) return new Failure('output', error.message, { sent: false });
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = systemReason(error as Error);
  if (fullDisk.includes(code)) return new AutomateError('output', `${shown} cannot be written: ${reason}`, { cause: error });
  if (/^(?:Z_|ERR__)/.test(code)) {
    return new Failure('network', `the body is cut off or damaged: ${reason}`, { retryable: true });
  }
  return new Failure('output', `the file "${shown}" cannot be saved: ${reason}`);
}
