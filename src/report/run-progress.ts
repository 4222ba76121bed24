import type { Attempt } from '../core/action.ts';
import type { Event } from '../core/event.ts';
import type { Clock } from '../core/ports.ts';
import type { QueueStatus } from './metrics/queued-run.ts';
import { Pauses } from './pauses.ts';
import type { Reading } from './reading.ts';
import { addToRates, RecordRates } from './record-rates.ts';
import { Statuses } from './statuses.ts';
import { addToTally, createTally } from './tally.ts';

/** Figures about a run's workers, which change during the run. */
export interface WorkerFigures {
  /** The number of workers that are alive now. */
  readonly now: number;
  readonly most: number;
  readonly lost: number;
  /** Number of unfinished units. A unit is a group of records that one worker processes. */
  readonly units: number;
  /** Credits that workers took from the run and might have spent before they were lost. They count as spent. */
  readonly maybeSpent: number;
  /**
   * Reads the state of the queue. Returns undefined while the queue cannot be reached. The function itself is undefined if the workers are
   * child processes.
   */
  readonly queueStatus?: (() => Promise<QueueStatus | undefined>) | undefined;
}

/** The state of a run, as shown by the progress line, the summary, the report and the web page. */
export class RunProgress {
  readonly tally = createTally();
  readonly statuses = new Statuses();
  readonly reading: Reading = { records: 0, bytesBefore: 0, isComplete: false };
  readonly pauses: Pauses;
  readonly rates: RecordRates;
  /** Fields of JSON records that a map replaces, and that none of the first records has. */
  readonly lateFields: string[] = [];
  /** Figures about the worker processes of the run; undefined if this process runs the nodes itself. */
  workers: WorkerFigures | undefined;
  /** Start time in ms since 1970. */
  readonly startedAtMs: number;
  readonly #startedMs: number;
  readonly #now: () => number;

  constructor({ now, wallNow }: Clock) {
    this.#now = now;
    this.pauses = new Pauses(now);
    this.rates = new RecordRates(now);
    this.startedAtMs = wallNow();
    this.#startedMs = now();
  }

  /** Time in ms since the run was opened. */
  get ms(): number {
    return this.#now() - this.#startedMs;
  }

  /** Counts an event of the run. */
  add(event: Event): void {
    addToTally(this.tally, event);
    addToRates(this.rates, event);
    if (event.type === 'gate-paused') this.pauses.add(event);
  }

  /** Counts an attempt to send a request. */
  addAttempt(attempt: Attempt): void {
    this.statuses.add(attempt);
  }
}
