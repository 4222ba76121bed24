import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orUndefined } from '../core/value/value.ts';
import { makeFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import { isLink } from '../files/stat.ts';

/** Size of a log entry in bytes: 2 for the account's index and 8 for the credits. */
const entryBytes = 10;

const maxBuffered = 1024;

/** Returns the path of the credit log of a run. */
export function sentLogPath(home: string, run: string): string {
  return join(home, 'runs', `${run}.credits`);
}

/**
 * The credit log of a run, which contains the credits that it may have spent. They are written before the requests that cost them are sent.
 * If the process is killed, another run adds the logged credits to the credit book.
 */
export class SentLog {
  readonly #path: string;
  readonly #file: number;
  readonly #buffer = Buffer.alloc(entryBytes * maxBuffered);
  #bufferedBytes = 0;
  #writtenBytes = 0;

  /** Creates the credit log of a run, in place of any earlier one. Throws an AutomateError (`output`) if the file cannot be written. */
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

  /** Adds an entry that charges credits to the account with this index. A negative number of credits is a refund. */
  add(account: number, credits: number): void {
    if (this.#bufferedBytes === this.#buffer.length) this.flush();
    this.#buffer.writeUInt16LE(account, this.#bufferedBytes);
    this.#buffer.writeDoubleLE(credits, this.#bufferedBytes + 2);
    this.#bufferedBytes += entryBytes;
  }

  /**
   * Writes the buffered entries to the file. It must be called before the requests that cost these credits are sent. Throws an
   * AutomateError (`output`) if the file cannot be written.
   */
  flush(): void {
    if (this.#bufferedBytes === 0) return;
    try {
      const written = writeSync(this.#file, this.#buffer, 0, this.#bufferedBytes, this.#writtenBytes);
      if (written < this.#bufferedBytes) throw new Error('no space left on device');
      this.#writtenBytes += written;
      this.#bufferedBytes = 0;
    } catch (error) {
      // Removes an entry that was written only in part, because all later entries would be misread. The next flush writes the whole buffer
      // again.
      ftruncateSync(this.#file, this.#writtenBytes);
      throw fileError(this.#path, 'written', error);
    }
  }

  /** Closes the credit log and deletes the file. */
  remove(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }
}

/** Returns the sum of the logged credits for each account, without the first `entries` entries. Undefined if there is no log. */
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
