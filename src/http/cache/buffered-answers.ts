import { deleteDatabase, isBusy, isDamaged } from '../../files/database.ts';
import { systemReason } from '../../files/naming-errors.ts';
import { AnswersFile } from './answers-file.ts';
import type { CachedAnswer, NewAnswer } from './cached-answer.ts';

export interface BufferedAnswersOptions {
  readonly path: string;
  /** Maximum total size in bytes of all cached headers and bodies. */
  readonly maxBytes: number;
  wallNow(): number;
  /** Called at most once. */
  warn(message: string): void;
}

/** The buffer of unwritten responses is written to the file when it reaches one of these limits. */
const flushAt = { ms: 50, answers: 100, bytes: 1 << 20 };

/** Maximum size of the buffer of unwritten responses while another process has locked the file. */
const maxBuffered = { answers: 10_000, bytes: 32 << 20 };

/** Longest waits for another process's lock. During a run, waits are short with pauses in between, because they block this process. */
const timeouts = { openMs: 2000, runningMs: 50, pauseMs: 250, closeMs: 2000 };

/** Throws no errors, because a response that cannot be read is simply requested again. */
export class BufferedAnswers {
  readonly #options: BufferedAnswersOptions;
  readonly #buffer = new Map<string, NewAnswer>();
  #bufferedBytes = 0;
  #file: AnswersFile | undefined;
  #timer: NodeJS.Timeout | undefined;
  #canOpen = true;
  #canWrite = true;
  /** True while another process has locked the file. */
  #isBusy = false;
  #isReplaced = false;
  #hasWarned = false;

  constructor(options: BufferedAnswersOptions) {
    this.#options = options;
  }

  find(key: string): CachedAnswer | undefined {
    return this.#buffer.get(key) ?? this.#attempt((file) => file.find(key));
  }

  add(key: string, answer: NewAnswer): void {
    if (!this.#canWrite) return;
    this.#buffer.set(key, answer);
    this.#bufferedBytes += answer.body.length;
    if (this.#reaches(maxBuffered)) this.#giveUp(lockedError());
    else if (this.#reaches(flushAt) && !this.#isBusy) this.#flush();
    else this.#flushAfter(flushAt.ms);
  }

  /** Writes the buffered responses and closes the file. Afterwards, no responses can be found or added. */
  close(): void {
    if (this.#file) this.#attempt((file) => file.setBusyTimeout(timeouts.closeMs));
    if (this.#file || this.#buffer.size > 0) this.#flushAll();
    clearTimeout(this.#timer);
    this.#canWrite = false;
    this.#canOpen = false;
    this.#closeFile();
  }

  #reaches(limit: { readonly answers: number; readonly bytes: number }): boolean {
    return this.#buffer.size >= limit.answers || this.#bufferedBytes >= limit.bytes;
  }

  #flushAfter(ms: number): void {
    this.#timer ??= setTimeout(() => this.#flush(), ms).unref();
  }

  /** Also deletes responses that have expired or exceed the maximum size. Returns `more` if there are still responses to delete. */
  #flush(): 'done' | 'more' | 'failed' {
    const { wallNow, maxBytes } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const hasMore = this.#attempt((file) => file.write(this.#buffer, wallNow(), maxBytes));
    if (hasMore === undefined) {
      if (this.#canWrite) this.#flushAfter(timeouts.pauseMs);
      return 'failed';
    }
    this.#clearBuffer();
    this.#isBusy = false;
    if (hasMore) this.#flushAfter(flushAt.ms);
    return hasMore ? 'more' : 'done';
  }

  #flushAll(): void {
    let result = this.#flush();
    // The first attempt may have deleted a damaged file. The second attempt then creates a new file and writes the responses to it.
    if (result === 'failed' && !this.#isBusy) result = this.#flush();
    while (result === 'more') result = this.#flush();
    if (this.#buffer.size > 0) this.#giveUp(lockedError());
  }

  #clearBuffer(): void {
    this.#buffer.clear();
    this.#bufferedBytes = 0;
  }

  /** Undefined if the file cannot be opened or `act` throws. */
  #attempt<Result>(act: (file: AnswersFile) => Result): Result | undefined {
    if (!this.#file && !this.#canOpen) return undefined;
    try {
      this.#file ??= this.#openFile();
      return act(this.#file);
    } catch (error) {
      if (this.#file && isBusy(error)) this.#isBusy = true;
      else if (isDamaged(error) && !this.#isReplaced) this.#replaceFile(error as Error);
      else this.#giveUp(error as Error);
      return undefined;
    }
  }

  #openFile(): AnswersFile {
    const file = new AnswersFile(this.#options.path, timeouts.openMs);
    file.setBusyTimeout(timeouts.runningMs);
    // An earlier run may have left responses that have expired or exceed the maximum size, so a flush deletes them soon.
    this.#flushAfter(flushAt.ms);
    return file;
  }

  /** A new file is created the next time the cache is used. */
  #replaceFile(damage: Error): void {
    const { path } = this.#options;
    this.#isReplaced = true;
    try {
      this.#closeFile();
      deleteDatabase(path);
      this.#warn(`the cache ${path} was damaged (${systemReason(damage)}), so it was deleted; a new one is used`);
    } catch (error) {
      this.#giveUp(error as Error);
    }
  }

  #closeFile(): void {
    const file = this.#file;
    this.#file = undefined;
    file?.close();
  }

  /** Stops adding responses to the cache. If the file is open, responses in it can still be found. */
  #giveUp(error: Error): void {
    this.#clearBuffer();
    this.#canWrite = false;
    if (!this.#file) this.#canOpen = false;
    this.#warn(
      `answers are not cached: the cache ${this.#options.path} cannot be used: ${systemReason(error)} (to use a different folder, set AUTOMATE_HOME)`,
    );
  }

  #warn(message: string): void {
    if (!this.#hasWarned) this.#options.warn(message);
    this.#hasWarned = true;
  }
}

function lockedError(): Error {
  return new Error('another process keeps it locked');
}
