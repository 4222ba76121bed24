import type { Event } from '../../core/event.ts';
import type { HeldMoney, PaidCalls, RunLink } from '../../core/workers/workers.ts';
import type { Question, Report, ResultForm } from './wire-form.ts';

/** Reports wait this long for results to go with. */
const reportMs = 200;

/** Reports of a worker, with the results that followed them. */
export interface Results {
  readonly reports: readonly Report[];
  readonly results: readonly ResultForm[];
}

/** The carrier of a worker's messages to a run. */
export interface Carrier {
  /** Sends results. Resolves when there is room for more. */
  deliver(results: Results): Promise<void> | undefined;
  ask(question: Question): Promise<unknown>;
}

/** The link of a worker to its run: it collects reports and results, and sends them together. */
export class RunReports implements RunLink {
  readonly #carrier: Carrier;
  #reports: Report[] = [];
  #results: ResultForm[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  takeCalls(node: string, calls: number): Promise<PaidCalls> {
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

  report(event: Event): void {
    this.add({ kind: 'event', event });
  }

  /** Adds a result, which `flush` sends. */
  result(form: ResultForm): void {
    this.#results.push(form);
  }

  /** Sends a report at once. */
  tell(report: Report): void {
    this.#reports.push(report);
    void this.flush();
  }

  /** Adds a report that can wait for results. */
  add(report: Report): void {
    this.#reports.push(report);
    this.#timer ??= setTimeout(() => void this.flush(), reportMs);
  }

  /** Sends reports and results. Resolves when there is room for more. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#reports.length + this.#results.length === 0) return;
    const message: Results = { reports: this.#reports, results: this.#results };
    this.#reports = [];
    this.#results = [];
    await this.#carrier.deliver(message);
  }

  #ask<Answer>(question: Question): Promise<Answer> {
    // Earlier reports come first: they may free what is asked for.
    void this.flush();
    return this.#carrier.ask(question) as Promise<Answer>;
  }
}
