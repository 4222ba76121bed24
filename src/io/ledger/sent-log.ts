import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { makeFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import { isLink } from '../files/stat.ts';

/** Bytes of an entry: the account's index, then the credits. */
const entryBytes = 10;

const maxBuffered = 1024;

/** The path of a run's log. */
export function sentLogPath(home: string, run: string): string {
  return join(home, 'runs', `${run}.credits`);
}

/**
 * The credits that a run may have spent, one entry per action, written before its request is sent.
 * It survives a killed process: the next run reads in it what to add to the book.
 */
export class SentLog {
  readonly #path: string;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(entryBytes * maxBuffered);
  #bufferedBytes = 0;
  #writtenBytes = 0;

  /** Begins a log, in place of an earlier log of the run. Throws an AutomateError (`output`) if it cannot be written. */
  constructor(path: string) {
    this.#path = path;
    this.#file = namingErrors(path, 'written', () => {
      const folder = dirname(path);
      if (isLink(folder)) throw new Error(`${folder} is a symbolic link\nremove it, or move the home folder with AUTOMATE_HOME`);
      makeFolder(folder);
      rmSync(path, { force: true });
      return openSync(path, 'wx', 0o600);
    });
  }

  /** Adds an entry: `credits` more, or fewer, for the account of that index. */
  add(account: number, credits: number): void {
    if (this.#bufferedBytes === this.#buffer.length) this.flush();
    this.#buffer.writeUInt16LE(account, this.#bufferedBytes);
    this.#buffer.writeDoubleLE(credits, this.#bufferedBytes + 2);
    this.#bufferedBytes += entryBytes;
  }

  /** Writes the buffered entries, before their requests are sent. Throws an AutomateError (`output`) if it cannot. */
  flush(): void {
    if (this.#bufferedBytes === 0) return;
    try {
      const written = writeSync(this.#file, this.#buffer, 0, this.#bufferedBytes, this.#writtenBytes);
      if (written < this.#bufferedBytes) throw new Error('no space left on device');
      this.#writtenBytes += written;
      this.#bufferedBytes = 0;
    } catch (error) {
      // Half an entry would shift all later ones. The next flush writes at the same place.
      ftruncateSync(this.#file, this.#writtenBytes);
      throw fileError(this.#path, 'written', error);
    }
  }

  /** Closes the log and deletes it. */
  remove(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }
}

/** Sums up a log after its first `entries`, by account; absent if there is no log. */
export function sentSince(path: string, entries: number, accounts: number): number[] | undefined {
  const sums = new Array<number>(accounts).fill(0);
  const bytes = isLink(path) ? undefined : orUndefined(() => readFileSync(path));
  if (!bytes) return undefined;
  for (let at = entries * entryBytes; at + entryBytes <= bytes.length; at += entryBytes) {
    const account = bytes.readUInt16LE(at);
    if (account < accounts) sums[account] = (sums[account] as number) + bytes.readDoubleLE(at + 2);
  }
  return sums;
}
