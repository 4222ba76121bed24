import type { Attempt } from '../../core/action.ts';
import type { Event } from '../../core/event.ts';
import type { Clock } from '../../core/ports.ts';
import { Pauses } from './pauses.ts';
import type { Reading } from './reading.ts';
import { addToRates, RecordRates } from './record-rates.ts';
import { Statuses } from './statuses.ts';
import { addToTally, createTally } from './tally.ts';

/** Figures of the workers of a run. They change while it goes on. */
export interface WorkerFigures {
  /** The number of workers now. */
  readonly now: number;
  readonly most: number;
  readonly lost: number;
  /** Credits that lost workers had taken and not reported: they count as spent. */
  readonly maybeSpent: number;
}

/** The state of a run that every display shows: progress line, summary, report, page. */
export class RunProgress {
  readonly tally = createTally();
  readonly statuses = new Statuses();
  readonly reading: Reading = { records: 0, bytesBefore: 0, isComplete: false };
  readonly pauses: Pauses;
  readonly rates: RecordRates;
  /** The workers of the run; undefined if its records pass the nodes in this process. */
  workers: WorkerFigures | undefined;
  /** Ms since 1970. */
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

  /** The time since the run was opened. */
  get ms(): number {
    return this.#now() - this.#startedMs;
  }

  /** Counts an event. */
  add(event: Event): void {
    addToTally(this.tally, event);
    addToRates(this.rates, event);
    if (event.type === 'gate-paused') this.pauses.add(event);
  }

  /** Counts an attempt. */
  addAttempt(attempt: Attempt): void {
    this.statuses.add(attempt);
  }
}
