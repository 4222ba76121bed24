import type { Event } from '../../core/event.ts';
import type { SaveNames } from '../../core/transfer.ts';
import type { HeldMoney, PaidCalls, RunLink } from '../../engine/workers.ts';
import type { ResultForm, WorkerQuestion, WorkerReport } from './wire-form.ts';

/** Maximum time in ms for which a report is held back, so that it can be sent together with results. */
const reportMs = 200;

export interface Results {
  readonly reports: readonly WorkerReport[];
  readonly results: readonly ResultForm[];
}

/** Carries messages over a pipe or through Redis. */
export interface MessageCarrier {
  /** Sends reports and results to the run. If no more can be sent at the moment, returns a promise that resolves when more can be sent. */
  deliver(results: Results): Promise<void> | undefined;
  ask(question: WorkerQuestion): Promise<unknown>;
}

/** Collects reports and results, and sends them together. */
export class RunReports implements RunLink {
  readonly #carrier: MessageCarrier;
  #reports: WorkerReport[] = [];
  #results: ResultForm[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(carrier: MessageCarrier) {
    this.#carrier = carrier;
  }

  takeCalls(node: string, calls: number, isScarce: boolean): Promise<PaidCalls> {
    if (isScarce) void this.flush();
    return this.#ask({ kind: 'take-calls', node, calls });
  }

  giveBackCalls(node: string, calls: number): void {
    this.tell({ kind: 'give-back', node, calls });
  }

  settle(node: string, cost: number | undefined): void {
    this.add({ kind: 'settle', node, cost });
  }

  holdMoney(node: string, max: number, most: number): Promise<HeldMoney> {
    return this.#ask({ kind: 'hold-money', node, max, most });
  }

  endMoney(node: string, held: number | undefined, cost: number | undefined): void {
    this.tell({ kind: 'end-money', node, held, cost });
  }

  noteUnstated(node: string): void {
    this.tell({ kind: 'unstated', node });
  }

  readonly saveNames: SaveNames = {
    claim: (path, owner) => this.#ask({ kind: 'save', act: 'claim', path, owner }),
    release: (path) => void this.#ask({ kind: 'save', act: 'release', path, owner: '' }),
    note: (path, owner, bytes) => this.#ask({ kind: 'save', act: 'note', path, owner, bytes }),
    takeBack: (path) => this.#ask({ kind: 'save', act: 'takeBack', path, owner: '' }),
  };

  report(event: Event): void {
    this.add({ kind: 'event', event });
  }

  /** The next `flush` sends the result. */
  result(form: ResultForm): void {
    this.#results.push(form);
  }

  /** Sends a report immediately, together with everything collected so far. */
  tell(report: WorkerReport): void {
    this.#reports.push(report);
    void this.flush();
  }

  /** The report is sent with the next results, or after 200 ms. */
  add(report: WorkerReport): void {
    this.#reports.push(report);
    this.#timer ??= setTimeout(() => void this.flush(), reportMs);
  }

  /** Resolves when more can be sent. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#reports.length + this.#results.length === 0) return;
    const message: Results = { reports: this.#reports, results: this.#results };
    this.#reports = [];
    this.#results = [];
    await this.#carrier.deliver(message);
  }

  #ask<Answer>(question: WorkerQuestion): Promise<Answer> {
    return this.#carrier.ask(question) as Promise<Answer>;
  }
}
