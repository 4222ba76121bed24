import type { Attempt, Trace } from '../core/action.ts';
import type { Event } from '../core/event.ts';
import { Failure, type FailureClass } from '../core/failure.ts';
import { entryOf } from '../core/map-entry.ts';
import type { SaveNames } from '../core/transfer.ts';
import type { RunLedger } from '../credits/run-ledger.ts';
import type { RunSpending } from '../credits/spending.ts';
import type { WorkerFigures } from '../report/run-progress.ts';
import type { SaveQuestion, WorkerQuestion, WorkerReport } from './processes/wire-form.ts';
import type { HeldCredits, HeldMoney } from './run-link.ts';

/** The parts of a run that its workers use through the desk, which answers questions such as whether credits are left. */
interface DeskParts {
  readonly ledger: RunLedger;
  readonly spending: RunSpending;
  readonly saveNames: SaveNames;
  readonly prices: ReadonlyMap<string, { readonly credits: number }>;
  workers(): number;
  report(event: Event): void;
  warn(message: string): void;
  readonly attempt?: Trace;
}

/** The workers that are alive now, the most at once, and those that were lost. Also counts unfinished units. */
interface LivingWorkers {
  readonly alive: number;
  readonly most: number;
  readonly lost: number;
  readonly openUnits: number;
}

interface Holding {
  /** For each node, the number of calls whose reserved credits were neither spent nor returned yet. */
  readonly calls: Map<string, number>;
  /** For each node, the amounts of money reserved for calls in flight. */
  readonly money: Map<string, number[]>;
  /** Paths reserved for files that the worker has not saved yet. */
  readonly paths: Set<string>;
}

type DeskReport = Exclude<WorkerReport, { kind: 'closing' | 'error' }>;

/** The part of a coordinator that answers the workers' questions and processes their reports. Each worker is identified by a number. */
export class RunDesk {
  readonly #parts: DeskParts;
  /** Credits that lost workers had reserved and might have spent. They count as spent. */
  maybeSpent = 0;
  readonly #holdings = new Map<number, Holding>();
  readonly #warnings = new Set<string>();
  readonly #waiting: (() => void)[] = [];

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  figuresOf(workers: LivingWorkers, queueStatus?: WorkerFigures['queueStatus']): WorkerFigures {
    const desk = this;
    return {
      queueStatus,
      get now() {
        return workers.alive;
      },
      get most() {
        return workers.most;
      },
      get lost() {
        return workers.lost;
      },
      get units() {
        return workers.openUnits;
      },
      get maybeSpent() {
        return desk.maybeSpent;
      },
    };
  }

  answer(worker: number, question: WorkerQuestion): Promise<unknown> {
    if (question.kind === 'hold-credits') return this.#holdCredits(worker, question.node, question.calls);
    if (question.kind === 'hold-money') return this.#holdMoney(worker, question);
    return this.#save(worker, question);
  }

  take(worker: number, report: DeskReport): void {
    const { ledger } = this.#parts;
    if (report.kind === 'event') this.#parts.report(withWorker(report.event, worker));
    else if (report.kind === 'attempt') this.#parts.attempt?.(attemptOf(report.attempt));
    else if (report.kind === 'warning') this.#warn(report.message);
    else if (report.kind === 'settle-credits') this.#endCredits(worker, report.node, 1, () => ledger.settle(report.node, report.cost));
    else if (report.kind === 'release-credits') this.#endCredits(worker, report.node, report.calls, () => ledger.release(report.node));
    else if (report.kind === 'settle-money') this.#settleMoney(worker, report);
    else if (this.#endMoney(worker, report.node, report.held)) this.#parts.spending.of(report.node).release(report.held);
  }

  /** Processes a report that a worker sent to an earlier coordinator of the run. The results that came with it are used in this run. */
  takeEarlier(report: DeskReport): void {
    const { ledger, spending } = this.#parts;
    if (report.kind === 'settle-credits') ledger.addEarlier(report.node, report.cost);
    else if (report.kind === 'settle-money') spending.of(report.node).settle(undefined, report.cost);
    else if (report.kind !== 'release-credits' && report.kind !== 'release-money') this.take(0, report);
  }

  /** Everything that the lost worker had reserved counts as spent. */
  lost(worker: number): void {
    const holding = this.#holdings.get(worker);
    if (!holding) return;
    const { ledger, spending, prices } = this.#parts;
    for (const [node, calls] of holding.calls) {
      this.maybeSpent += calls * (prices.get(node)?.credits ?? 0);
      for (let call = 0; call < calls; call++) ledger.settle(node);
    }
    for (const [node, held] of holding.money) for (const money of held) spending.of(node).settle(money, money);
    for (const path of holding.paths) this.#parts.saveNames.release(path);
    this.#holdings.delete(worker);
    this.#wake();
  }

  /** For several calls at once, or for one if few credits are left. If other workers have reserved the last ones, waits for them. */
  async #holdCredits(worker: number, node: string, most: number): Promise<HeldCredits> {
    const { ledger } = this.#parts;
    for (;;) {
      const workers = this.#parts.workers();
      const isPlenty = !ledger.isLimited || ledger.affords([[node, most * workers]]);
      const wanted = isPlenty ? most : 1;
      let calls = 0;
      let refusal = ledger.hold(node);
      for (; !refusal && ++calls < wanted; ) refusal = ledger.hold(node);
      if (calls > 0) {
        const { calls: held } = this.#holdingOf(worker);
        held.set(node, (held.get(node) ?? 0) + calls);
        ledger.flush();
        return { calls, left: ledger.isLimited ? ledger.left() / workers : undefined };
      }
      if (!this.#areCallsOpen()) return { calls, refusal, left: 0 };
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Runs `act` for each call. Does nothing for a lost worker, for which nothing is reserved any more. */
  #endCredits(worker: number, node: string, count: number, act: () => void): void {
    const { calls } = this.#holdingOf(worker);
    const held = calls.get(node) ?? 0;
    calls.set(node, Math.max(0, held - count));
    for (let call = 0; call < Math.min(count, held); call++) act();
    this.#wake();
  }

  async #holdMoney(worker: number, { node, max, most }: Extract<WorkerQuestion, { kind: 'hold-money' }>): Promise<HeldMoney> {
    const spending = this.#parts.spending.of(node);
    const held = await spending.hold(max, () => most);
    if (typeof held === 'number') this.#moneyOf(worker, node).push(held);
    return { held, total: spending.total };
  }

  #settleMoney(worker: number, { node, held, cost }: Extract<WorkerReport, { kind: 'settle-money' }>): void {
    const spending = this.#parts.spending.of(node);
    if (held === undefined || this.#endMoney(worker, node, held)) spending.settle(held, cost);
    // The money of a lost worker has been settled already, but its answer still shows that no maximum can be guaranteed.
    else if (cost === 'unstated') spending.settle(undefined, cost);
  }

  /** Returns false for a lost worker, for which nothing is reserved any more. */
  #endMoney(worker: number, node: string, held: number): boolean {
    const all = this.#moneyOf(worker, node);
    const at = all.indexOf(held);
    if (at >= 0) all.splice(at, 1);
    return at >= 0;
  }

  async #save(worker: number, { act, path, owner, bytes = 0 }: SaveQuestion): Promise<unknown> {
    const { saveNames } = this.#parts;
    const { paths } = this.#holdingOf(worker);
    const answer = await saveNames[act](path, owner, bytes);
    if (answer === 'free' || act === 'takeBack') paths.add(path);
    else if (act !== 'claim') paths.delete(path);
    return answer;
  }

  #warn(message: string): void {
    if (this.#warnings.has(message)) return;
    this.#warnings.add(message);
    this.#parts.warn(message);
  }

  #areCallsOpen(): boolean {
    return [...this.#holdings.values()].some(({ calls }) => [...calls.values()].some((count) => count > 0));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #moneyOf(worker: number, node: string): number[] {
    return entryOf(this.#holdingOf(worker).money, node, () => []);
  }

  #holdingOf(worker: number): Holding {
    return entryOf(this.#holdings, worker, () => ({ calls: new Map(), money: new Map(), paths: new Set() }));
  }
}

/** Each worker finds its own limits. */
function withWorker(event: Event, worker: number): Event {
  return event.type === 'concurrency' || event.type === 'call-refused' ? { ...event, worker } : event;
}

function attemptOf(form: object): Attempt {
  const { result, ...others } = form as Omit<Attempt, 'result'> & {
    readonly result: Attempt['result'] | { kind: FailureClass; message: string };
  };
  return { ...others, result: typeof result === 'object' ? new Failure(result.kind, result.message) : result };
}
