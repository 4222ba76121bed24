import { constants, type Stats } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { SavedFile } from '../../core/files/transfer.ts';
import { systemReason } from '../files/naming-errors.ts';
import { PathRefused } from './files-folder.ts';

/** The place of a file that an answer is saved to. */
export interface SavePlace {
  /** As the flow and the record name it. */
  readonly shown: string;
  /** The real path. */
  readonly path: string;
  /** True if a file at the path may be replaced. */
  readonly replaces: boolean;
  /** True if nothing is written. */
  readonly isTrial: boolean;
  /** Called before the file appears at its path. */
  note(): Promise<void>;
  /** Called if it could not. */
  takeBack(): Promise<void>;
}

/** The facts about an answer that its body is read by. */
export interface BodyFacts {
  readonly status: number;
  /** Undefined for a body that is not compressed. */
  readonly encodings: string | undefined;
}

/**
 * Writes the body of an answer to a file beside its place, and puts it there once it is whole. After a crash, the unfinished file is
 * overwritten by the next attempt at the same place.
 */
export class SavedBody {
  readonly #place: SavePlace;
  readonly #facts: BodyFacts;
  readonly #input = new PassThrough();
  readonly #written: Promise<SavedFile>;

  constructor(place: SavePlace, facts: BodyFacts) {
    this.#place = place;
    this.#facts = facts;
    // It may be given up before anything reads it.
    this.#input.on('error', () => undefined);
    this.#written = this.#write();
    this.#written.catch(() => undefined);
  }

  /** Takes a part of the body. Returns false if the next part should wait until `drained` is called. */
  write(chunk: Buffer, drained: () => void): boolean {
    if (this.#input.destroyed || this.#input.write(chunk)) return true;
    this.#input.once('drain', drained);
    return false;
  }

  /** Resolves once the file is in its place. Throws a Failure, or an AutomateError (`output`) for a disk that is full. */
  end(): Promise<SavedFile> {
    this.#input.end();
    return this.#written;
  }

  /** Calls `failed` if the file cannot be written. */
  onFailure(failed: (error: unknown) => void): void {
    this.#written.catch(failed);
  }

  /** Resolves once nothing more is written. */
  async settled(): Promise<void> {
    await this.#written.catch(() => undefined);
  }

  /** Gives the file up. */
  abort(): void {
    this.#input.destroy(new Error('given up'));
  }

  async #write(): Promise<SavedFile> {
    const { shown, isTrial } = this.#place;
    if (isTrial) return { path: shown, bytes: await this.#copyTo(new Writable({ write: (_chunk, _encoding, done) => done() })) };
    try {
      const part = await openPart(this.#place.path);
      try {
        const bytes = await this.#copyTo(streamInto(part.handle));
        await part.handle.datasync();
        await this.#publish(part);
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

  async #publish(part: Part): Promise<void> {
    const { path, shown, replaces, note, takeBack } = this.#place;
    if (!(await part.isOurs())) throw new Failure('output', `another process is saving "${shown}"`);
    await note();
    try {
      await (replaces ? rename(part.path, path) : linkTo(part.path, path));
    } catch (error) {
      await takeBack();
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? existing(shown) : error;
    }
  }
}

/** The unfinished file beside a place. */
interface Part {
  readonly path: string;
  readonly handle: FileHandle;
  /** True if the file at the path is still the one that was opened. */
  isOurs(): Promise<boolean>;
  /** Removes the file if it is still there. */
  remove(): Promise<void>;
}

async function openPart(place: string): Promise<Part> {
  const path = join(dirname(place), `.${basename(place)}.automate-part`);
  await rm(path, { force: true });
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
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

/** A stream of its own: the one of a FileHandle would keep it from being closed. */
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

/** Errors of file systems without hard links. */
const linkless = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'];

/** Puts a file in a place where there is none: a link never replaces a file. The unfinished name stays, for its owner to remove. */
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
  const names = (encodings.toLowerCase().match(/[^\s,]+/g) ?? []).filter((name) => name !== 'identity');
  return names.reverse().map((name) => {
    if (name === 'gzip' || name === 'x-gzip') return createGunzip();
    if (name === 'deflate') return createInflate();
    if (name === 'br') return createBrotliDecompress();
    throw new Failure('parse', `expected the content encoding gzip, deflate or br, found "${encodings}"`, { status });
  });
}

/** The failure for a file that exists and stays. */
export function existing(shown: string): Failure {
  return new Failure('output', `the file "${shown}" exists, and replace: true is not set`, { sent: false });
}

/** Errors that every other file would have, too. */
const fullDisk = ['ENOSPC', 'EDQUOT', 'EIO'];

/** The error of a file that cannot be saved: a full disk ends the run, anything else fails the record. */
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
