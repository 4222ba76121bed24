import { readFile } from 'node:fs/promises';
import type { RunView } from '../../ui/run/run-view.ts';
import type { Shared } from '../calls/flow-runtime.ts';
import type { RunShape } from '../shapes.ts';
import { RunEvents } from './run-events.ts';
import type { RunFolder } from './run-folder.ts';
import { RunPart } from './run-part.ts';
import type { StoredRun } from './stored-run.ts';

const progressEveryMs = 250;

/** Time before the first estimate of the time left. */
const settledMs = 3000;

/** A run of the server: stored, waiting, under way or ended. */
export class ServedRun {
  readonly stored: StoredRun;
  readonly folder: RunFolder;
  readonly events: RunEvents;
  /** Absent unless it is under way. */
  #part: RunPart | undefined;
  #saving: Promise<void> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();

  constructor(stored: StoredRun, folder: RunFolder) {
    this.stored = stored;
    this.folder = folder;
    this.events = new RunEvents(folder.events);
  }

  get id(): string {
    return this.stored.id;
  }

  get isUnderWay(): boolean {
    return this.#part !== undefined;
  }

  /** True before its end. */
  get isOpen(): boolean {
    const { state } = this.stored;
    return state === 'queued' || state === 'running' || state === 'stopping';
  }

  /** Resolves once it is not under way. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Changes the run once that is saved, one change after another. Throws an AutomateError (`output`). */
  async change(changes: Partial<StoredRun>): Promise<void> {
    this.#saving = this.#saving
      .catch(() => undefined)
      .then(() => this.folder.save({ ...this.stored, ...changes }).then(() => this.#changed(changes)));
    await this.#saving;
  }

  /** Runs the records until the end or a stop. `ended`: takes the records and credits of this part. */
  start(shared: Shared, ended: (part: { readonly records: number; readonly credits: number }) => void): Promise<void> {
    const part = new RunPart(this.stored, this.folder, shared, this.events);
    this.#part = part;
    this.#ended = this.#toEnd(part, ended).finally(() => {
      this.#part = undefined;
    });
    return this.#ended;
  }

  /** Ends it early. `waits`: the next start of the server goes on with it. */
  async stop(message: string, waits = false): Promise<void> {
    this.#part?.stop(message);
    if (this.#part) await this.change({ state: 'stopping', isWaiting: waits });
  }

  abort(): void {
    this.#part?.abort();
  }

  /** The run as the interface shows it. */
  json(base = '/v1'): RunShape {
    const { stored } = this;
    const { id, flow, key, state, ending, exitCode, reason, createdAt, startedAt, endedAt, format, bytes, retryOf, resumable } = stored;
    const { failures, mapped, credits } = this.#totals();
    const self = `${base}/runs/${id}`;
    return {
      ...{ id, flow, key: key && { id: key.id, name: key.name }, state, ending, exit_code: exitCode, reason },
      ...{ created_at: createdAt, started_at: startedAt, ended_at: endedAt, format, bytes },
      counts: this.#part?.counts() ?? stored.counts,
      ...{ failures, mapped: [...mapped], credits, resumable, retry_of: retryOf },
      links: { self, events: `${self}/events`, output: `${self}/output`, errors: `${self}/errors` },
    };
  }

  /** The figures for the page; absent before the first record. */
  async view(): Promise<RunView | undefined> {
    const living = this.#part?.view();
    if (living) return living;
    const text = await readFile(this.folder.view, 'utf8').catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text) as RunView);
  }

  #totals() {
    return this.#part?.totals() ?? this.stored.totals;
  }

  async #toEnd(part: RunPart, ended: (part: { readonly records: number; readonly credits: number }) => void): Promise<void> {
    const startedAt = this.stored.startedAt ?? new Date().toISOString();
    const parts = this.stored.parts + 1;
    await this.change({ state: 'running', parts, startedAt, endedAt: null, ending: null, exitCode: null, reason: null, resumable: false });
    const stopProgress = this.#showProgress(part);
    const running = part.run();
    const { ending, exitCode, reason, counts, totals } = await running;
    stopProgress();
    const { counts: before, totals: paid } = this.stored;
    if (counts) ended({ records: counts.read - before.read, credits: totals.credits - paid.credits });
    const figures = { ...(counts && { counts }), totals };
    // The server stops: its next start goes on with the run.
    if (this.stored.isWaiting && ending === 'interrupted') return this.change({ state: 'queued', ...figures });
    const state = ending === 'complete' ? 'finished' : ending === 'failed' ? 'failed' : 'stopped';
    await this.change({
      ...{ state, ending, exitCode, reason, endedAt: new Date().toISOString(), crashes: 0 },
      resumable: state === 'stopped' || (state === 'failed' && counts !== undefined),
      ...figures,
      isWaiting: false,
    });
    this.#part = undefined;
    this.events.end(this.json());
  }

  #changed(changes: Partial<StoredRun>): void {
    Object.assign(this.stored, changes);
    const { state, ending, reason } = this.stored;
    if (changes.state !== undefined) this.events.state(state, ending, reason);
  }

  /** Tells the listeners the progress. Returns what ends it. */
  #showProgress(part: RunPart): () => void {
    const startedMs = performance.now();
    const before = this.stored.counts;
    const timer = setInterval(() => {
      const figures = part.figures();
      if (!figures) return;
      const { share, paused } = figures;
      const { read, written, failed, retries } = part.counts();
      const seconds = (performance.now() - startedMs) / 1000;
      const done = read - before.read - before.written - before.failed > 0 ? read - before.read : read;
      const isSettled = seconds * 1000 >= settledMs && share !== null && share > 0;
      this.events.progress({
        ...{ read, written, failed, retries, credits: this.#totals().credits },
        records_per_second: Math.round(done / Math.max(seconds, 0.001)),
        share,
        eta_s: isSettled ? Math.round((seconds * (1 - share)) / share) : null,
        paused,
      });
    }, progressEveryMs);
    timer.unref();
    return () => clearInterval(timer);
  }
}
