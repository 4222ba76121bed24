import { copyFile } from 'node:fs/promises';
import { savedBytes } from '../../files/saved-names.ts';
import { statOf } from '../../files/stat.ts';
import { journalPath, readJournal } from '../../output/journal/journal.ts';
import type { SharedParts } from '../../run/flow-runtime.ts';
import type { Caller, LetInKey } from '../caller.ts';
import { ProblemResponse } from '../problem.ts';
import { DiskSpace } from './disk-space.ts';
import { nextPayer, storedKey } from './paying.ts';
import { figuresOnDisk, newRunId, RunFolder, readRuns } from './run-folder.ts';
import { ServedRun, type WorkOfRun } from './served-run.ts';
import { errorsFormatOf, isOpenState, noCounts, noTotals, payerOf, processingOptions, type StoredRun } from './stored-run.ts';

export interface RunLimits {
  /** Maximum number of runs that are under way at the same time. */
  readonly maxRuns: number;
  /** Maximum number of runs that wait to be started at the same time. */
  readonly maxQueue: number;
  /** In bytes, for all runs and stored responses. */
  readonly maxDisk: number;
  /** Time in ms after which ended runs are deleted. */
  readonly keepMs: number;
}

/** A new run whose input has been stored, but which has not started. */
type NewRun = Pick<StoredRun, 'id' | 'flow' | 'key' | 'options' | 'inputFormat' | 'format' | 'bytes' | 'retryOf'>;

/** After this many crashes of the server during a run, only a user can resume it, because it might cause the crashes. */
const maxCrashes = 3;

const stoppedText = 'it was stopped';

const notEnded = { ending: null, exitCode: null, reason: null, endedAt: null, resumable: false };

interface RunListener {
  /** Returns the size in bytes of the stored responses, which share the disk space with the runs. */
  answerBytes(): number;

  /** Called at the end of each part of a run. */
  paid(run: StoredRun, work: WorkOfRun): void;
  /** When the server starts, also receives all runs that ended before. */
  ended(run: ServedRun): void;
}

export class Runs {
  readonly #path: string;
  readonly #shared: SharedParts;
  readonly #limits: RunLimits;
  readonly #listener: RunListener;
  /** Limits the disk space for runs and everything else that is stored for clients. */
  readonly space: DiskSpace;
  readonly #runs = new Map<string, ServedRun>();
  readonly #queue = new RunQueue<ServedRun>();
  readonly #underWay = new Set<ServedRun>();
  readonly #arriving = new Set<ServedRun>();
  #mayStart = false;
  #isStopping = false;

  constructor(path: string, shared: SharedParts, limits: RunLimits, listener: RunListener) {
    this.#path = path;
    this.#shared = shared;
    this.#limits = limits;
    this.#listener = listener;
    this.space = new DiskSpace(
      limits.maxDisk,
      () => listener.answerBytes(),
      (fits) => this.#freed(fits),
    );
  }

  /**
   * Reads the runs from the disk. Must be called before the first request. Runs left unfinished by a stop or a crash are continued after
   * `start`. If `resumes` is false, runs that a crash interrupted wait until a user resumes them.
   */
  async open(resumes: boolean): Promise<void> {
    for (const stored of await readRuns(this.#path, this.#shared.say)) {
      const run = new ServedRun(stored, new RunFolder(this.#path, stored.id));
      this.#runs.set(stored.id, run);
      // A crash may have left files that no part of the run could count.
      if (run.isOpen) stored.saved = Math.max(stored.saved ?? 0, await savedSoFar(run.folder.output(stored.format)));
      if (run.isOpen) this.#takeUp(run, resumes, await figuresOnDisk(run.folder, stored));
      else this.#listener.ended(run);
    }
    // The runs that continue must count everything that is already on the disk.
    this.space.stored = await this.#freed(() => true);
  }

  start(): void {
    this.#mayStart = true;
    this.#startNext();
  }

  all(): ServedRun[] {
    return [...this.#runs.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  find(id: string): ServedRun | undefined {
    return this.#runs.get(id);
  }

  /**
   * Returns the folder for a run whose input is about to arrive, and reserves disk space for it. Throws a Problem: `stopping` if the server
   * is ending, `queue-full` if too many runs wait, `disk-full` if there is not enough space.
   */
  async newFolder(key: LetInKey | undefined, bytes: number) {
    if (this.#isStopping) throw stopping();
    this.#refuseFull(key?.id ?? '');
    const space = await this.space.reserve(bytes, true);
    const id = newRunId();
    return { id, folder: new RunFolder(this.#path, id), space };
  }

  /** Throws a Problem (`queue-full`) if too many runs wait, or an AutomateError (`output`) if the run cannot be stored. */
  async add(given: NewRun, folder: RunFolder): Promise<ServedRun> {
    // Checks again, because other runs might have been added during the upload.
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

  /** Stops a run. Returns false if it has already ended or is about to end. */
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

  async stopThose(which: (run: StoredRun) => boolean): Promise<void> {
    for (const run of this.#runs.values()) if (run.isOpen && which(run.stored)) await this.stop(run);
  }

  /**
   * Resumes a run that stopped early. `isCharged` is true if the sender agrees to pay for another key's run. Throws a Problem if the run
   * cannot be resumed. The reasons are `run-state`, `stopping`, `credits-used-up`, `scope-missing`, `queue-full` and `disk-full`.
   */
  async resume(run: ServedRun, caller: Caller, isCharged: boolean): Promise<void> {
    refuseNotResumable(run);
    if (this.#isStopping) throw stopping();
    const payer = await nextPayer(run, caller, isCharged, this.#shared);
    if (run.stored.ending === 'disk-full') (await this.space.reserve(0, true)).release();
    // Checks again, because another request might have resumed the run in the meantime.
    refuseNotResumable(run);
    const { state, resumable, ending, exitCode, reason, endedAt } = run.stored;
    this.#refuseFull(payer?.id ?? '');
    run.move('queued', { ...notEnded, crashes: 0, payer: payer === run.stored.key ? undefined : payer });
    this.#enqueue(run);
    await run.saved.catch(() => {
      // If the run has already started, nothing needs to be undone: the run fails by itself and reports the full disk.
      if (this.#queue.remove(run)) run.move(state, { resumable, ending, exitCode, reason, endedAt });
      throw new ProblemResponse('disk-full', 'the run cannot be resumed: the disk is full');
    });
  }

  /** Processes the failed records of a run. Throws a Problem (`run-state`) if it has not ended or has no failed records. */
  async retry({ stored, folder: from }: ServedRun, key: LetInKey | undefined): Promise<ServedRun> {
    const { state, counts, flow, options, inputFormat, format } = stored;
    const path = from.errors(inputFormat);
    const bytes = statOf(path)?.size;
    if (isOpenState(state) || counts.failed === 0 || bytes === undefined)
      throw new ProblemResponse('run-state', `the run is ${state} and has no failed records to retry`, { state });
    const { id, folder, space } = await this.newFolder(key, bytes);
    folder.create();
    const errorsFormat = errorsFormatOf(inputFormat);
    const given = {
      id,
      flow,
      key: storedKey(key),
      options: processingOptions(options),
      inputFormat: errorsFormat,
      format,
      bytes,
      retryOf: stored.id,
    };
    try {
      await copyFile(path, folder.input(errorsFormat));
      await folder.copyFlow(from);
      return await this.add(given, folder);
    } catch (error) {
      await folder.delete();
      throw error;
    } finally {
      space.release();
    }
  }

  /** Deletes a run and its files. Throws a Problem (`run-state`) if it is waiting or under way. */
  async delete(run: ServedRun): Promise<void> {
    const { state } = run.stored;
    if (run.isOpen) throw new ProblemResponse('run-state', `the run is ${state}: stop it first`, { state });
    this.#runs.delete(run.id);
    await run.ended;
    await run.saved.catch(() => undefined);
    await run.folder.delete();
  }

  async deleteOld(): Promise<void> {
    const before = Date.now() - this.#limits.keepMs;
    for (const run of this.#runs.values()) {
      const { endedAt } = run.stored;
      if (run.isOpen || endedAt === null || Date.parse(endedAt) >= before) continue;
      await this.delete(run).catch((error: Error) => this.#shared.say(`${run.id}: ${error.message}`));
    }
  }

  /**
   * Deletes runs that have ended, the oldest first, until the rest fits on the disk. Deletes nothing if the rest would not fit even then.
   * Keeps runs that can be resumed once there is space, and runs that have saved files, because these files would stay on the disk. Returns
   * the size of the rest in bytes.
   */
  async #freed(fits: (stored: number) => boolean): Promise<number> {
    await this.deleteOld();
    const oldest = this.all().reverse();
    const sizes = new Map(await Promise.all(oldest.map(async (run) => [run, await run.size()] as const)));
    let stored = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    const isKept = ({ isOpen, stored: { ending, saved = 0 } }: ServedRun) => isOpen || ending === 'disk-full' || saved > 0;
    const sizeOf = (run: ServedRun) => sizes.get(run) as number;
    const inVain = !fits(oldest.reduce((rest, run) => rest - (isKept(run) ? 0 : sizeOf(run)), stored));
    for (const run of oldest) {
      if (inVain || fits(stored)) break;
      if (!this.#runs.has(run.id) || isKept(run)) continue;
      await this.delete(run);
      stored -= sizeOf(run);
    }
    return stored;
  }

  /** Stops all runs that are under way. They are resumed when the server starts again. Runs that are waiting do not change. */
  async close(): Promise<void> {
    this.#isStopping = true;
    const underWay = [...this.#underWay];
    for (const run of underWay) if (run.stored.state === 'running') run.stop('the server stopped', true);
    await Promise.all(underWay.map((run) => run.ended));
    await Promise.all(this.all().map((run) => run.saved.catch(() => undefined)));
  }

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

  #ended(run: ServedRun, work: WorkOfRun): void {
    this.#listener.paid(run.stored, work);
    if (!run.isOpen) this.#listener.ended(run);
  }

  /** Throws a Problem (`queue-full`). `owner` is the id of an API key; empty for the web page. */
  #refuseFull(owner: string): void {
    const { maxRuns, maxQueue } = this.#limits;
    const places = maxQueue + Math.max(0, maxRuns - this.#underWay.size);
    if (this.#queue.length + this.#arriving.size < places) return;
    // Every API key may have one waiting run, so that one key cannot block the others.
    const waits = this.#queue.has(owner) || [...this.#arriving].some((run) => ownerOfRun(run) === owner);
    if (maxQueue > 0 && !waits) return;
    throw new ProblemResponse('queue-full', `expected at most ${maxQueue} waiting runs`, {}, { 'retry-after': '10' });
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
      run.start(this.#shared, this.space, (work) => {
        this.#underWay.delete(run);
        this.#ended(run, work);
        this.#startNext();
      });
    }
  }
}

/** The id of the API key; empty for the web page. */
function ownerOfRun({ stored }: ServedRun): string {
  return payerOf(stored)?.id ?? '';
}

function refuseNotResumable({ stored: { state, resumable } }: ServedRun): void {
  if (!resumable) throw new ProblemResponse('run-state', `the run is ${state}: there is nothing to resume`, { state });
}

function stopping(): ProblemResponse {
  return new ProblemResponse('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
}

/** Owners (API keys) take turns: next is the owner with the fewest runs under way, no matter how many of its runs wait. @internal */
export class RunQueue<Run> {
  readonly #byOwner = new Map<string, Run[]>();

  get length(): number {
    return [...this.#byOwner.values()].reduce((sum, runs) => sum + runs.length, 0);
  }

  add(owner: string, run: Run): void {
    const runs = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, runs);
    runs.push(run);
  }

  has(owner: string): boolean {
    return this.#byOwner.has(owner);
  }

  /** Removes a run of the owner with the fewest runs under way. */
  next(underWay: (owner: string) => number): Run | undefined {
    const [first] = [...this.#byOwner.keys()].sort((one, other) => underWay(one) - underWay(other));
    if (first === undefined) return undefined;
    const runs = this.#byOwner.get(first) as Run[];
    const run = runs.shift();
    // Moves the run's owner behind the other owners.
    this.#byOwner.delete(first);
    if (runs.length > 0) this.#byOwner.set(first, runs);
    return run;
  }

  remove(run: Run): boolean {
    for (const [owner, runs] of this.#byOwner) {
      const at = runs.indexOf(run);
      if (at === -1) continue;
      runs.splice(at, 1);
      if (runs.length === 0) this.#byOwner.delete(owner);
      return true;
    }
    return false;
  }
}

/** The size in bytes of the files that an unfinished run has saved. */
async function savedSoFar(out: string): Promise<number> {
  const journal = await readJournal(journalPath(out)).catch(() => undefined);
  return savedBytes(journal?.saved ?? []);
}
