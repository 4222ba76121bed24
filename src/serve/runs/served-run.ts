import { readFile } from 'node:fs/promises';
import type { Checkpoint } from '../../output/journal/journal.ts';
import { doneOf } from '../../report/reported-run.ts';
import type { RunView } from '../../report/run-view.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import type { SharedParts } from '../../run/flow-runtime.ts';
import { ProblemResponse } from '../problem.ts';
import type { RunShape, ServedRunState } from '../shapes.ts';
import { type DiskSpace, RunSpace } from './disk-space.ts';
import { RunEvents } from './run-events.ts';
import { checkpointOnDisk, type RunFolder } from './run-folder.ts';
import { type EndedPart, RunPart } from './run-part.ts';
import { isOpenState, mayFollow, type StoredRun } from './stored-run.ts';

const progressEveryMs = 250;

/** Time in ms before the first estimate of the remaining time. Earlier estimates would be far off. */
const settledMs = 3000;

type EndState = 'stopped' | 'finished' | 'failed';

/** The finished records and the credits of a run, which are counted for its API key. */
export type WorkOfRun = StoredRun['counted'];

export class ServedRun {
  readonly events: RunEvents;
  /** Undefined if the run is waiting or has ended. */
  #part: RunPart | undefined;
  #saved: Promise<void> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();

  constructor(
    readonly stored: StoredRun,
    readonly folder: RunFolder,
  ) {
    this.events = new RunEvents(folder.events);
  }

  get id(): string {
    return this.stored.id;
  }

  get isOpen(): boolean {
    return isOpenState(this.stored.state);
  }

  /** Bytes, including the files that the run has saved. Determined only once for an ended run. */
  async size(): Promise<number> {
    const { size, saved = 0 } = this.stored;
    if (!this.isOpen && size !== undefined) return size;
    const found = (await this.folder.size()) + saved + (this.#part?.space.outside ?? 0);
    if (!this.isOpen) this.stored.size = found;
    return found;
  }

  /** Resolves when the run is no longer under way. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Resolves when all changes of the run are on disk. Rejects with an AutomateError (`output`) if they cannot be written. */
  get saved(): Promise<void> {
    return this.#saved;
  }

  /** Stores a new run on disk. Throws an AutomateError (`output`) if it cannot be written. */
  async store(): Promise<void> {
    this.#save();
    await this.#saved;
    this.events.state(this.stored.state, null, null);
  }

  /**
   * Changes the state of the run. The check and the change are synchronous, so nothing can happen between them. `saved` resolves when the
   * change is on disk. Throws a Problem (`run-state`) if the run cannot change to that state.
   */
  move(state: ServedRunState, changes: Partial<StoredRun> = {}): void {
    const from = this.stored.state;
    if (!mayFollow(from, state))
      throw new ProblemResponse('run-state', `the run is ${from}, so it cannot become ${state}`, { state: from });
    Object.assign(this.stored, changes, { state });
    this.events.state(state, this.stored.ending, this.stored.reason);
    this.#save();
  }

  /** Returns the work that has not been counted for the API key yet. */
  end(state: EndState, changes: Partial<StoredRun>): WorkOfRun {
    const { counts, totals, counted } = { ...this.stored, ...changes };
    const work = { records: counts.read, credits: totals.credits };
    this.#part = undefined;
    this.move(state, { endedAt: new Date().toISOString(), isWaiting: false, ...changes, counted: work });
    this.events.end(this.json());
    return { records: work.records - counted.records, credits: work.credits - counted.credits };
  }

  /** `ended` receives the work when the run is no longer under way. */
  start(shared: SharedParts, disk: DiskSpace, ended: (work: WorkOfRun) => void): void {
    const space = new RunSpace(disk, () => {
      if (this.stored.state === 'running') this.move('stopping');
      part.stopFull();
    });
    const part = new RunPart(this.stored, this.folder, shared, this.events, space);
    this.#part = part;
    const startedAt = this.stored.startedAt ?? new Date().toISOString();
    this.move('running', { startedAt, parts: this.stored.parts + 1 });
    this.#ended = this.#toEnd(part, ended).catch((error: Error) => shared.say(`${this.id}: ${error.stack}`));
  }

  /** Stops a run that is under way. `waits` is true if the run is to be resumed when the server starts again. */
  stop(message: string, waits = false): void {
    this.move('stopping', { isWaiting: waits });
    this.#part?.stop(message);
  }

  abort(): void {
    this.#part?.abort();
  }

  json(base = '/v1'): RunShape {
    const { stored } = this;
    const { id, flow, key, state, ending, exitCode, reason, createdAt, startedAt, endedAt, format, bytes, retryOf, resumable } = stored;
    const { failures, mapped, credits } = this.#totals();
    const share = this.#part?.figures()?.share;
    const self = `${base}/runs/${id}`;
    return {
      ...{ id, flow, key: key && { id: key.id, name: key.name }, state, ending, exit_code: exitCode, reason },
      ...{ created_at: createdAt, started_at: startedAt, ended_at: endedAt, format, bytes },
      counts: this.#part?.counts() ?? stored.counts,
      ...(typeof share === 'number' && { share }),
      workers: this.#part?.workers() ?? null,
      ...{ failures, mapped: [...mapped], credits, resumable, retry_of: retryOf },
      links: { self, events: `${self}/events`, output: `${self}/output`, errors: `${self}/errors` },
    };
  }

  async view(): Promise<RunView | undefined> {
    const living = this.#part?.view();
    if (living) return living;
    const text = await readFile(this.folder.view, 'utf8').catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text) as RunView);
  }

  /** The contents of the files. Undefined for a complete run, whose files are whole. */
  async written(): Promise<Checkpoint | undefined> {
    if (this.stored.state === 'finished') return undefined;
    return this.#part?.written() ?? checkpointOnDisk(this.folder, this.stored);
  }

  #totals() {
    return this.#part?.totals() ?? this.stored.totals;
  }

  async #toEnd(part: RunPart, ended: (work: WorkOfRun) => void): Promise<void> {
    const stopProgress = this.#showProgress(part);
    const { ending, exitCode, reason, isResumable, counts, totals } = await this.#saved.then(
      () => part.run(),
      (error: Error) => unsaved(part.reasonOf(error), this.stored),
    );
    stopProgress();
    const saved = (this.stored.saved ?? 0) + part.space.saved;
    const size = (await this.folder.size()) + saved;
    const figures = { ...(counts && { counts }), totals, saved, size };
    if (this.stored.isWaiting && ending === 'interrupted') {
      // The server is ending, and will resume the run when it is started again.
      this.#part = undefined;
      this.move('queued', { ...figures, isWaiting: false });
      return ended({ records: 0, credits: 0 });
    }
    const state = ending === 'complete' ? 'finished' : ending === 'failed' ? 'failed' : 'stopped';
    ended(this.end(state, { ending, exitCode, reason, crashes: 0, resumable: isResumable, ...figures }));
  }

  #save(): void {
    this.#saved = this.#saved.catch(() => undefined).then(() => this.folder.save(this.stored));
    // A write error is ignored here. Callers that need the change on disk await `saved`, which rejects with the error.
    this.#saved.catch(() => undefined);
  }

  /** Returns a function that stops the progress messages. */
  #showProgress(part: RunPart): () => void {
    const startedMs = performance.now();
    const before = this.stored.counts;
    const timer = setInterval(() => {
      const figures = part.figures();
      if (!figures) return;
      const { share, paused } = figures;
      const { read, written, failed, retries } = part.counts();
      const seconds = (performance.now() - startedMs) / 1000;
      const done = read - before.read - doneOf(before) > 0 ? read - before.read : read;
      const isSettled = seconds * 1000 >= settledMs && share !== null && share > 0;
      this.events.progress({
        ...{ read, written, failed, retries, credits: this.#totals().credits },
        records_per_second: Math.round(done / Math.max(seconds, 0.001)),
        share,
        eta_s: isSettled ? Math.round((seconds * (1 - share)) / share) : null,
        paused,
        workers: part.workers(),
      });
    }, progressEveryMs);
    timer.unref();
    return () => clearInterval(timer);
  }
}

/** Returns the result of a part of the run that could not begin because the disk is full. */
function unsaved(reason: string, { counts, totals }: StoredRun): EndedPart {
  return { ending: 'failed', exitCode: exitCodes.output, reason, isResumable: true, counts, totals };
}
