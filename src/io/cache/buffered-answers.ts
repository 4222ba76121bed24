import { deleteDatabase, isBusy, isDamaged } from '../files/database.ts';
import { systemReason } from '../files/naming-errors.ts';
import { AnswersFile } from './answers-file.ts';
import type { CachedAnswer, NewAnswer } from './cached-answer.ts';

/** The file of the cache and its limit. */
export interface BufferedAnswersOptions {
  readonly path: string;
  /** Maximum of headers and bodies together. */
  readonly maxBytes: number;
  wallNow(): number;
  /** Called at most once: if answers cannot be cached, or if a damaged file was replaced. */
  warn(message: string): void;
}

/** The buffer is flushed once it reaches one of these limits. */
const flushAt = { ms: 50, answers: 100, bytes: 1 << 20 };

/** Maximum of the buffer while another process holds the file's lock. */
const maxBuffered = { answers: 10_000, bytes: 32 << 20 };

/** Waits for other processes. A wait blocks this process, so during a run each wait is short, with pauses in between. */
const timeouts = { openMs: 2000, runningMs: 50, pauseMs: 250, closeMs: 2000 };

/** The answers on disk, and a buffer of answers that are not written yet. Never throws: an answer that is not cached is requested again. */
export class BufferedAnswers {
  readonly #options: BufferedAnswersOptions;
  readonly #buffer = new Map<string, NewAnswer>();
  #bufferedBytes = 0;
  /** Opened when it is first needed. */
  #file: AnswersFile | undefined;
  #timer: NodeJS.Timeout | undefined;
  #canOpen = true;
  #canWrite = true;
  /** True while another process holds the file's lock. */
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

  /** Flushes the buffer. Nothing is found or added afterwards. */
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

  /** Writes the buffer and deletes some surplus answers. `more`: there is more surplus. */
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
    // The first attempt may have replaced a damaged file; then the second attempt succeeds.
    if (result === 'failed' && !this.#isBusy) result = this.#flush();
    while (result === 'more') result = this.#flush();
    if (this.#buffer.size > 0) this.#giveUp(lockedError());
  }

  #clearBuffer(): void {
    this.#buffer.clear();
    this.#bufferedBytes = 0;
  }

  /** Returns undefined if it failed. */
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
    // There may be surplus answers to delete.
    this.#flushAfter(flushAt.ms);
    return file;
  }

  /** Deletes a damaged file. The next attempt creates a new one. */
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

  /** Stops caching. Answers that are cached already are still found. */
  #giveUp(error: Error): void {
    this.#clearBuffer();
    this.#canWrite = false;
    if (!this.#file) this.#canOpen = false;
    this.#warn(`answers are not cached: the cache ${this.#options.path} cannot be used: ${systemReason(error)} (AUTOMATE_HOME moves it)`);
  }

  #warn(message: string): void {
    if (!this.#hasWarned) this.#options.warn(message);
    this.#hasWarned = true;
  }
}

function lockedError(): Error {
  return new Error('another process keeps it locked');
}
