import type { CodedMessage } from '../core/error-code.ts';
import type { SpendingRefusal } from '../core/spending.ts';
import type { SaveNames } from '../core/transfer.ts';
import type { ResultForm, WorkerQuestion, WorkerReport } from './processes/wire-form.ts';

/** Maximum time in ms for which a report is held back, so that it can be sent together with results. */
const reportMs = 200;

export interface Results {
  readonly reports: readonly WorkerReport[];
  readonly results: readonly ResultForm[];
}

/** The credits that are reserved for calls of a node. */
export interface HeldCredits {
  /** 0 if the credits were refused. */
  readonly calls: number;
  readonly refusal?: CodedMessage;
  /** The approximate number of credits that are left for this worker; undefined if there is no limit. */
  readonly left?: number;
}

/** The money that is reserved for a call of a node, and the cost of the node's calls so far. */
export interface HeldMoney {
  readonly held: number | SpendingRefusal;
  readonly total: number;
}

/** Connects a worker with a run, over a pipe or through Redis. Collects reports and results, and sends them together. */
export abstract class RunLink {
  #reports: WorkerReport[] = [];
  #results: ResultForm[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Sends reports and results to the run. If no more can be sent at the moment, returns a promise that resolves when more can be sent. */
  protected abstract deliver(results: Results): Promise<void> | undefined;

  protected abstract ask(question: WorkerQuestion): Promise<unknown>;

  /** Reserves the credits. If `isScarce`, the collected reports are sent first, because they may free credits. */
  holdCredits(node: string, calls: number, isScarce: boolean): Promise<HeldCredits> {
    if (isScarce) void this.flush();
    return this.#answerTo({ kind: 'hold-credits', node, calls });
  }

  /** Reserves the maximum cost of a call, as `Spending.hold` does. */
  holdMoney(node: string, max: number, most: number): Promise<HeldMoney> {
    return this.#answerTo({ kind: 'hold-money', node, max, most });
  }

  readonly saveNames: SaveNames = {
    claim: (path, owner) => this.#answerTo({ kind: 'save', act: 'claim', path, owner }),
    release: (path) => void this.#answerTo({ kind: 'save', act: 'release', path, owner: '' }),
    note: (path, owner, bytes) => this.#answerTo({ kind: 'save', act: 'note', path, owner, bytes }),
    takeBack: (path) => this.#answerTo({ kind: 'save', act: 'takeBack', path, owner: '' }),
  };

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
    await this.deliver(message);
  }

  #answerTo<Answer>(question: WorkerQuestion): Promise<Answer> {
    return this.ask(question) as Promise<Answer>;
  }
}
