import type { Attempt, Trace } from '../../core/action.ts';
import type { Event } from '../../core/event.ts';
import { Failure, type FailureClass } from '../../core/failure.ts';
import type { Clock, ReservedStarts } from '../../core/ports.ts';
import type { RunSpending } from '../../core/spending.ts';
import type { HeldMoney, PaidCalls } from '../../core/workers/workers.ts';
import { SharedStarts } from '../../engine/passage/shared-starts.ts';
import type { RunLedger } from '../../io/ledger/run-ledger.ts';
import type { WorkerDesk } from '../../io/workers/pool.ts';
import type { Question, Report } from '../../io/workers/wire-form.ts';

/** The parts of a run that its workers share. */
export interface DeskParts {
  readonly clock: Clock;
  readonly ledger: RunLedger;
  readonly spending: RunSpending;
  /** By node, the credits of a call. */
  readonly prices: ReadonlyMap<string, { readonly credits: number }>;
  readonly workers: number;
  /** Pauses a gate in all workers but one. */
  pause(gate: string, waitMs: number, except: number): void;
  report(event: Event): void;
  warn(message: string): void;
  readonly attempt?: Trace | undefined;
}

/** Everything that a worker holds of a run. */
interface Holding {
  /** By node, calls whose credits are taken, and which are neither settled nor given back. */
  readonly calls: Map<string, number>;
  /** By node, what its calls in flight hold of the money. */
  readonly money: Map<string, number[]>;
}

/** Gives the workers of a run its credits, its money and the starts at its gates, and takes back what lost workers held. */
export class RunDesk implements WorkerDesk {
  /** Credits that lost workers had taken and did not report: they count as spent. */
  maybeSpent = 0;
  readonly #parts: DeskParts;
  readonly #starts: SharedStarts;
  readonly #holdings = new Map<number, Holding>();
  readonly #warnings = new Set<string>();
  readonly #waiting: (() => void)[] = [];

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.#starts = new SharedStarts(parts.clock);
  }

  answer(worker: number, question: Question): Promise<ReservedStarts | PaidCalls | HeldMoney> {
    if (question.kind === 'reserve') return Promise.resolve(this.#starts.reserve(question.gate, question.intervalMs, question.count));
    if (question.kind === 'take-calls') return this.#takeCalls(worker, question.node, question.calls);
    return this.#holdMoney(worker, question);
  }

  take(worker: number, report: Parameters<WorkerDesk['take']>[1]): void {
    const { ledger, spending } = this.#parts;
    if (report.kind === 'event') this.#parts.report(report.event.type === 'concurrency' ? { ...report.event, worker } : report.event);
    else if (report.kind === 'attempt') this.#parts.attempt?.(attemptOf(report.attempt));
    else if (report.kind === 'warning') this.#warn(report.message);
    else if (report.kind === 'unstated') spending.of(report.node).noteUnstated();
    else if (report.kind === 'pause') this.#pause(worker, report);
    else if (report.kind === 'end-money') this.#endMoney(worker, report);
    else if (report.kind === 'give-back') this.#release(worker, report.node, report.calls, () => ledger.release(report.node));
    else this.#release(worker, report.node, 1, () => ledger.settle(report.node, report.cost));
  }

  lost(worker: number): void {
    const holding = this.#holdings.get(worker);
    if (!holding) return;
    const { ledger, spending, prices } = this.#parts;
    for (const [node, calls] of holding.calls) {
      this.maybeSpent += calls * (prices.get(node)?.credits ?? 0);
      for (let call = 0; call < calls; call++) ledger.settle(node);
    }
    for (const [node, held] of holding.money) for (const money of held) spending.of(node).end(money, money);
    this.#holdings.delete(worker);
    this.#wake();
  }

  /** Near the end of the credits, calls are given one by one. If others hold the last credits, waits for what they give back. */
  async #takeCalls(worker: number, node: string, most: number): Promise<PaidCalls> {
    const { ledger, workers } = this.#parts;
    for (;;) {
      const isPlenty = !ledger.isLimited || ledger.affords([[node, most * workers]]);
      const wanted = isPlenty ? most : 1;
      let calls = 0;
      let refusal = ledger.hold(node);
      for (; !refusal && ++calls < wanted; ) refusal = ledger.hold(node);
      if (calls > 0) {
        const { calls: held } = this.#holdingOf(worker);
        held.set(node, (held.get(node) ?? 0) + calls);
        ledger.flush();
        return { calls, left: isPlenty ? undefined : ledger.left() / workers };
      }
      if (!this.#areCallsOpen()) return { calls, refusal, left: 0 };
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Takes calls from those that a worker holds. A worker that was taken for lost holds none. */
  #release(worker: number, node: string, count: number, act: () => void): void {
    const { calls } = this.#holdingOf(worker);
    const held = calls.get(node) ?? 0;
    calls.set(node, Math.max(0, held - count));
    for (let call = 0; call < Math.min(count, held); call++) act();
    this.#wake();
  }

  async #holdMoney(worker: number, { node, max, most }: Extract<Question, { kind: 'hold-money' }>): Promise<HeldMoney> {
    const spending = this.#parts.spending.of(node);
    const held = await spending.begin(max, () => most);
    if (typeof held === 'number') this.#moneyOf(worker, node).push(held);
    return { held, total: spending.total };
  }

  #endMoney(worker: number, { node, held, cost }: Extract<Report, { kind: 'end-money' }>): void {
    const spending = this.#parts.spending.of(node);
    if (held === undefined) spending.add(cost ?? 0);
    const all = this.#moneyOf(worker, node);
    const at = held === undefined ? -1 : all.indexOf(held);
    if (held === undefined || at < 0) return;
    all.splice(at, 1);
    spending.end(held, cost);
  }

  #pause(worker: number, { gate, waitMs }: Extract<Report, { kind: 'pause' }>): void {
    this.#starts.pause(gate, waitMs);
    this.#parts.pause(gate, waitMs, worker);
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
    const { money } = this.#holdingOf(worker);
    const found = money.get(node);
    if (found) return found;
    const held: number[] = [];
    money.set(node, held);
    return held;
  }

  #holdingOf(worker: number): Holding {
    const found = this.#holdings.get(worker);
    if (found) return found;
    const holding = { calls: new Map<string, number>(), money: new Map<string, number[]>() };
    this.#holdings.set(worker, holding);
    return holding;
  }
}

/** An attempt from its form. */
function attemptOf(form: object): Attempt {
  const { result, ...others } = form as Omit<Attempt, 'result'> & {
    readonly result: Attempt['result'] | { kind: FailureClass; message: string };
  };
  return { ...others, result: typeof result === 'object' ? new Failure(result.kind, result.message) : result };
}
