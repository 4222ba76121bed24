import { copyFile } from 'node:fs/promises';
import type { SharedParts } from '../../app/flow-runtime.ts';
import { statOf } from '../../io/files/stat.ts';
import type { Caller, LetInKey } from '../caller.ts';
import { Problem } from '../problem.ts';
import { DiskSpace, type Reservation } from './disk-space.ts';
import { nextPayer, storedKey } from './paying.ts';
import { Queue } from './queue.ts';
import { figuresOnDisk, newRunId, RunFolder, readRuns } from './run-folder.ts';
import { type RunWork, ServedRun } from './served-run.ts';
import { errorsFormatOf, isOpenState, noCounts, noTotals, payerOf, type StoredRun } from './stored-run.ts';

/** The limits of all runs. */
export interface RunLimits {
  /** Maximum of runs under way at once. */
  readonly maxRuns: number;
  /** Maximum of runs that wait at once. */
  readonly maxQueue: number;
  /** Maximum of bytes of all runs and stored answers on disk. */
  readonly maxDisk: number;
  /** Ended runs are deleted after this time. */
  readonly keepMs: number;
}

/** A run whose input is stored. */
export type NewRun = Pick<StoredRun, 'id' | 'flow' | 'key' | 'options' | 'inputFormat' | 'format' | 'bytes' | 'retryOf'>;

/** After this number of crashes of the server, a run is not resumed until a user resumes it. */
const maxCrashes = 3;

const stoppedText = 'it was stopped';

const notEnded = { ending: null, exitCode: null, reason: null, endedAt: null, resumable: false };

/** A new run without files, and space for its body. */
interface NewFolder {
  readonly id: string;
  readonly folder: RunFolder;
  readonly space: Reservation;
}

/** Takes the results of runs. */
export interface RunListener {
  /** The bytes of the stored answers, which count with the runs. */
  answerBytes(): number;

  /** Takes the work of one part of a run. */
  paid(run: StoredRun, work: RunWork): void;
  /** Takes a run that has ended; at the start of the server, every ended run. */
  ended(run: ServedRun): void;
}

/** All runs of the server. */
export class Runs {
  /** The space of the runs, and of everything else that is stored for callers. */
  readonly space: DiskSpace;
  readonly #path: string;
  readonly #shared: SharedParts;
  readonly #limits: RunLimits;
  readonly #listener: RunListener;
  readonly #runs = new Map<string, ServedRun>();
  readonly #queue = new Queue<ServedRun>();
  readonly #underWay = new Set<ServedRun>();
  /** New runs that are being saved. */
  readonly #arriving = new Set<ServedRun>();
  #mayStart = false;
  #isStopping = false;

  constructor(path: string, shared: SharedParts, limits: RunLimits, listener: RunListener) {
    this.#path = path;
    this.#listener = listener;
    this.#shared = shared;
    this.#limits = limits;
    this.space = new DiskSpace(
      limits.maxDisk,
      () => listener.answerBytes(),
      (fits) => this.#freed(fits),
    );
  }

  /**
   * Reads the runs on disk, before the first request. Runs that a stop or a crash left unfinished wait for `start`; with `resumes` false,
   * runs that a crash has interrupted wait until a user resumes them.
   */
  async open(resumes: boolean): Promise<void> {
    for (const stored of await readRuns(this.#path, this.#shared.say)) {
      const run = new ServedRun(stored, new RunFolder(this.#path, stored.id));
      this.#runs.set(stored.id, run);
      if (run.isOpen) this.#takeUp(run, resumes, await figuresOnDisk(run.folder, stored));
      else this.#listener.ended(run);
    }
    await this.deleteOld();
  }

  /** Lets runs begin. */
  start(): void {
    this.#mayStart = true;
    this.#startNext();
  }

  /** All runs, newest first. */
  all(): ServedRun[] {
    return [...this.#runs.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  find(id: string): ServedRun | undefined {
    return this.#runs.get(id);
  }

  /** The folder of a run whose body is about to be stored, and space for it. Throws a Problem (`queue-full`, `stopping`, `disk-full`). */
  async newFolder(key: LetInKey | undefined, bytes: number): Promise<NewFolder> {
    if (this.#isStopping) throw stopping();
    this.#refuseFull(key?.id ?? '');
    const space = await this.space.reserve(bytes, true);
    const id = newRunId();
    return { id, folder: new RunFolder(this.#path, id), space };
  }

  /** Stores a run and starts it when it is its turn. Throws a Problem (`queue-full`), or an AutomateError (`output`). */
  async add(given: NewRun, folder: RunFolder): Promise<ServedRun> {
    // Other runs may have come during the upload.
    this.#refuseFull(given.key?.id ?? '');
    const run = new ServedRun(
      {
        ...given,
        ...{ createdAt: new Date().toISOString(), state: 'queued', startedAt: null, endedAt: null, ending: null, exitCode: null },
        ...{ reason: null, isWaiting: false, resumable: false, crashes: 0, parts: 0, counts: noCounts, totals: noTotals },
        counted: { records: 0, credits: 0 },
      },
      folder,
    );
    this.#arriving.add(run);
    await run.store().finally(() => this.#arriving.delete(run));
    this.#runs.set(run.id, run);
    this.space.stored += given.bytes;
    this.#enqueue(run);
    return run;
  }

  /** Ends a run early. Returns false if it has ended or is about to. */
  async stop(run: ServedRun): Promise<boolean> {
    const { state, isWaiting } = run.stored;
    if (state === 'queued') {
      this.#queue.remove(run);
      this.#end(run, { ending: 'interrupted', exitCode: 5, reason: stoppedText, resumable: true });
    } else if (state === 'running') run.stop(stoppedText);
    else if (isWaiting) run.stored.isWaiting = false;
    else return false;
    await run.saved.catch((error: Error) => this.#shared.say(`${run.id}: ${error.message}`));
    return true;
  }

  /** Ends the runs for which `which` is true, if they are under way or wait. */
  async stopThose(which: (run: StoredRun) => boolean): Promise<void> {
    for (const run of this.#runs.values()) if (run.isOpen && which(run.stored)) await this.stop(run);
  }

  /**
   * Resumes a run that stopped early. `isCharged`: true if the sender pays for a run of another key. Throws a Problem (`run-state`, `stopping`,
   * `credits-used-up`, `scope-missing`, `queue-full`, `disk-full`).
   */
  async resume(run: ServedRun, caller: Caller, isCharged: boolean): Promise<void> {
    refuseNotResumable(run);
    if (this.#isStopping) throw stopping();
    const payer = await nextPayer(run, caller, isCharged, this.#shared);
    // Another request may have resumed it meanwhile.
    refuseNotResumable(run);
    const { state, resumable, ending, exitCode, reason, endedAt } = run.stored;
    this.#refuseFull(payer?.id ?? '');
    run.move('queued', { ...notEnded, crashes: 0, payer: payer === run.stored.key ? undefined : payer });
    this.#enqueue(run);
    await run.saved.catch(() => {
      // A run that has begun already fails by itself.
      if (this.#queue.remove(run)) run.move(state, { resumable, ending, exitCode, reason, endedAt });
      throw new Problem('disk-full', 'the run cannot be resumed: the disk is full');
    });
  }

  /** Makes a run over the failed records of another. Throws a Problem (`run-state`). */
  async retry({ stored, folder: from }: ServedRun, key: LetInKey | undefined): Promise<ServedRun> {
    const { state, counts, flow, options, inputFormat, format } = stored;
    const path = from.errors(inputFormat);
    const bytes = statOf(path)?.size;
    if (isOpenState(state) || counts.failed === 0 || bytes === undefined)
      throw new Problem('run-state', `the run is ${state} and has no failed records to retry`, { state });
    const { id, folder, space } = await this.newFolder(key, bytes);
    folder.create();
    const errorsFormat = errorsFormatOf(inputFormat);
    const { skip: _, limit: __, encoding: ___, records: ____, sheet: _____, ...rest } = options;
    const given = { id, flow, key: storedKey(key), options: rest, inputFormat: errorsFormat, format, bytes, retryOf: stored.id };
    try {
      await copyFile(path, folder.input(errorsFormat));
      await copyFile(from.flow, folder.flow);
      return await this.add(given, folder);
    } catch (error) {
      await folder.delete();
      throw error;
    } finally {
      space.release();
    }
  }

  /** Deletes a run and its files. Throws a Problem (`run-state`) while it is under way or waits. */
  async delete(run: ServedRun): Promise<void> {
    const { state } = run.stored;
    if (run.isOpen) throw new Problem('run-state', `the run is ${state}: stop it first`, { state });
    this.#runs.delete(run.id);
    await run.ended;
    await run.saved.catch(() => undefined);
    await run.folder.delete();
  }

  /** Deletes ended runs that are too old. */
  async deleteOld(): Promise<void> {
    const before = Date.now() - this.#limits.keepMs;
    for (const run of this.#runs.values()) {
      const { endedAt } = run.stored;
      if (run.isOpen || endedAt === null || Date.parse(endedAt) >= before) continue;
      await this.delete(run).catch((error: Error) => this.#shared.say(`${run.id}: ${error.message}`));
    }
  }

  /** Deletes the oldest ended runs until the others fit. Returns the bytes of the others. */
  async #freed(fits: (stored: number) => boolean): Promise<number> {
    await this.deleteOld();
    const oldest = this.all().reverse();
    const sizes = new Map(await Promise.all(oldest.map(async (run) => [run, await run.size()] as const)));
    let stored = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const run of oldest) {
      if (fits(stored)) break;
      if (!this.#runs.has(run.id) || run.isOpen) continue;
      await this.delete(run);
      stored -= sizes.get(run) as number;
    }
    return stored;
  }

  /** Stops all runs under way so that the next start resumes them. Waiting runs stay as they are. */
  async close(): Promise<void> {
    this.#isStopping = true;
    const underWay = [...this.#underWay];
    for (const run of underWay) if (run.stored.state === 'running') run.stop('the server stopped', true);
    await Promise.all(underWay.map((run) => run.ended));
    await Promise.all(this.all().map((run) => run.saved.catch(() => undefined)));
  }

  /** Gives up the records under way. */
  abort(): void {
    for (const run of this.#underWay) run.abort();
  }

  #takeUp(run: ServedRun, resumes: boolean, figures: Partial<StoredRun> | undefined): void {
    const { state, isWaiting } = run.stored;
    const crashes = run.stored.crashes + (isWaiting || state === 'queued' ? 0 : 1);
    if (crashes >= maxCrashes || (crashes > 0 && !resumes)) {
      const reason = resumes ? `the server crashed ${maxCrashes} times during this run` : 'the server crashed during this run';
      this.#end(run, { ending: 'crashed', exitCode: 5, reason, crashes, resumable: true, ...figures });
      return;
    }
    if (state !== 'queued') run.move('queued', { ...notEnded, crashes, isWaiting: false, ...figures });
    this.#enqueue(run);
  }

  #end(run: ServedRun, changes: Partial<StoredRun>): void {
    this.#ended(run, run.end('stopped', changes));
  }

  #ended(run: ServedRun, work: RunWork): void {
    this.#listener.paid(run.stored, work);
    if (!run.isOpen) this.#listener.ended(run);
  }

  /** Throws a Problem (`queue-full`) if no more run of an owner may come. */
  #refuseFull(owner: string): void {
    const { maxRuns, maxQueue } = this.#limits;
    const places = maxQueue + Math.max(0, maxRuns - this.#underWay.size);
    if (this.#queue.length + this.#arriving.size < places) return;
    // One key cannot shut out the others: one run of each key may always wait.
    const waits = this.#queue.has(owner) || [...this.#arriving].some((run) => ownerOfRun(run) === owner);
    if (maxQueue > 0 && !waits) return;
    throw new Problem('queue-full', `expected at most ${maxQueue} waiting runs`, {}, { 'retry-after': '10' });
  }

  #enqueue(run: ServedRun): void {
    this.#queue.add(ownerOfRun(run), run);
    this.#startNext();
  }

  #startNext(): void {
    while (this.#mayStart && !this.#isStopping && this.#underWay.size < this.#limits.maxRuns) {
      const run = this.#queue.next((owner) => [...this.#underWay].filter((one) => ownerOfRun(one) === owner).length);
      if (!run) return;
      this.#underWay.add(run);
      run.start(this.#shared, (work) => {
        this.#underWay.delete(run);
        this.#ended(run, work);
        this.#startNext();
      });
    }
  }
}

/** The id of the key in whose turn a run comes; empty for the page. */
function ownerOfRun({ stored }: ServedRun): string {
  return payerOf(stored)?.id ?? '';
}

function refuseNotResumable({ stored: { state, resumable } }: ServedRun): void {
  if (!resumable) throw new Problem('run-state', `the run is ${state}: there is nothing to resume`, { state });
}

function stopping(): Problem {
  return new Problem('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
}
