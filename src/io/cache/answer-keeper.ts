import { damagedPath, isBusy, isDamaged, setAside } from '../files/database.ts';
import { systemReason } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { type AnswersFile, openAnswers } from './answers-file.ts';
import type { KeptAnswer, NewAnswer } from './cached-answer.ts';

/** Where answers are kept, and how many. */
export interface KeeperOptions {
  readonly path: string;
  /** Of headers and bodies together. */
  readonly mostBytes: number;
  wallNow(): number;
  /** Called at most once: when answers cannot be kept, or when a damaged file is begun anew. */
  warn(message: string): void;
}

/** Keeps answers. Nothing of it fails: an answer that cannot be kept or found is asked for again. */
export interface AnswerKeeper {
  find(key: string): KeptAnswer | undefined;
  /** Keeps an answer, for now in memory. */
  keep(key: string, answer: NewAnswer): void;
  /** Writes what is in memory; after that nothing is found or kept. */
  close(): void;
}

/** As soon as one of these is reached, what is in memory is written. */
const waitingFor = { ms: 50, answers: 100, bytes: 1 << 20 };

/** Nor is more than this kept in memory when another process does not let us write. */
const mostWaiting = { answers: 10_000, bytes: 32 << 20 };

/** How long other processes are waited for. Nothing else happens meanwhile; so while it runs, they are left alone for a while instead. */
const patience = { openingMs: 2000, runningMs: 50, betweenMs: 250, closingMs: 2000 };

/** Makes the keeper of a file, which is opened when it is first needed. */
export function createAnswerKeeper({ path, mostBytes, wallNow, warn }: KeeperOptions): AnswerKeeper {
  const waiting = new Map<string, NewAnswer>();
  let waitingBytes = 0;
  let file: AnswersFile | undefined;
  /** Which file was found at the path. */
  let inode: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let canOpen = true;
  let canKeep = true;
  let isOthersTurn = false;
  let isBegunAnew = false;
  let hasWarned = false;
  return {
    find: (key) => waiting.get(key) ?? tried((answers) => answers.find(key)),
    keep(key, answer) {
      if (!canKeep) return;
      waiting.set(key, answer);
      waitingBytes += answer.body.length;
      if (isMoreThan(mostWaiting)) giveUp(new Error('another process does not let it be written'));
      else if (isMoreThan(waitingFor) && !isOthersTurn) flush();
      else flushIn(waitingFor.ms);
    },
    close() {
      if (file) tried((answers) => answers.waitFor(patience.closingMs));
      if (file || waiting.size > 0) flushAll();
      clearTimeout(timer);
      canKeep = false;
      canOpen = false;
      closeFile();
    },
  };

  function isMoreThan(limit: { readonly answers: number; readonly bytes: number }): boolean {
    return waiting.size >= limit.answers || waitingBytes >= limit.bytes;
  }

  function flushIn(ms: number): void {
    timer ??= setTimeout(flush, ms).unref();
  }

  /** Writes what is in memory. What has come to its end, or is too much, is taken away in the same go, as far as that is soon done. */
  function flush(): 'done' | 'more' | 'failed' {
    clearTimeout(timer);
    timer = undefined;
    const isMore = tried((answers) => answers.keep(waiting, wallNow(), mostBytes));
    if (isMore === undefined) {
      if (canKeep) flushIn(patience.betweenMs);
      return 'failed';
    }
    forget();
    isOthersTurn = false;
    if (isMore) flushIn(waitingFor.ms);
    return isMore ? 'more' : 'done';
  }

  /** A file that is found to be damaged is begun anew, so that the second time may go well. */
  function flushAll(): void {
    let came = flush();
    if (came === 'failed' && !isOthersTurn) came = flush();
    while (came === 'more') came = flush();
    if (waiting.size > 0) giveUp(new Error('another process does not let it be written'));
  }

  function forget(): void {
    waiting.clear();
    waitingBytes = 0;
  }

  /** Absent when it did not work out. */
  function tried<Result>(act: (answers: AnswersFile) => Result): Result | undefined {
    if (!file && !canOpen) return undefined;
    try {
      file ??= opened();
      return act(file);
    } catch (error) {
      if (file && isBusy(error)) isOthersTurn = true;
      else if (isDamaged(error) && !isBegunAnew) beginAnew(error as Error);
      else giveUp(error as Error);
      return undefined;
    }
  }

  function opened(): AnswersFile {
    inode = statOf(path)?.ino;
    const answers = openAnswers(path, patience.openingMs);
    inode = statOf(path)?.ino;
    answers.waitFor(patience.runningMs);
    // There may be something to take away.
    flushIn(waitingFor.ms);
    return answers;
  }

  /** Another process may have done so already. */
  function beginAnew(damage: Error): void {
    isBegunAnew = true;
    try {
      closeFile();
      if (statOf(path)?.ino === inode) setAside(path);
      warnOnce(`the cache ${path} was damaged (${systemReason(damage)}): it is now ${damagedPath(path)}, and a new one is begun`);
    } catch (error) {
      giveUp(error as Error);
    }
  }

  function closeFile(): void {
    const answers = file;
    file = undefined;
    answers?.close();
  }

  /** No more is kept. What was kept before is still found, as far as it can be. */
  function giveUp(error: Error): void {
    forget();
    canKeep = false;
    if (!file) canOpen = false;
    warnOnce(`answers are not kept: the cache ${path} cannot be used: ${systemReason(error)} (AUTOMATE_HOME moves it)`);
  }

  function warnOnce(message: string): void {
    if (!hasWarned) warn(message);
    hasWarned = true;
  }
}
