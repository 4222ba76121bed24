import type { Duplex } from 'node:stream';
import type { Event } from '../../core/event.ts';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import type { HeldMoney, PaidCalls, RunLink } from '../../core/workers/workers.ts';
import { onFrames, sendFrame } from './frames.ts';
import {
  type FromWorker,
  isUnit,
  type Question,
  type Report,
  type ResultForm,
  type ToWorker,
  type UnitItem,
  unitItems,
} from './wire-form.ts';

/** Reports wait this long for results to go with. */
const reportMs = 200;

/** Takes what a run tells its worker. */
export interface WorkerListener {
  unit(items: readonly UnitItem[]): void;
  told(message: Exclude<ToWorker, { kind: 'answer' }>): void;
}

/** The end of the pipe in a child process: the link to its run. */
export class PipeLink implements RunLink {
  readonly #pipe: Duplex;
  readonly #questions = new Map<number, (value: never) => void>();
  #lastQuestion = 0;
  #reports: Report[] = [];
  #results: ResultForm[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(pipe: Duplex, listener: WorkerListener) {
    this.#pipe = pipe;
    // Each flush of a full pipe waits for its drain.
    pipe.setMaxListeners(0);
    onFrames(pipe, (text) => {
      if (isUnit(text)) return listener.unit(unitItems(text));
      const message = JSON.parse(text) as ToWorker;
      if (message.kind !== 'answer') return listener.told(message);
      this.#questions.get(message.id)?.(message.value as never);
      this.#questions.delete(message.id);
    });
  }

  permitsOf(gate: string): Permits {
    return {
      reserve: (intervalMs, count) => this.#ask<ReservedStarts>({ kind: 'reserve', gate, intervalMs, count }),
      pause: (waitMs) => this.tell({ kind: 'pause', gate, waitMs }),
    };
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

  /** Sends reports and results. Resolves when the pipe has room for more. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#reports.length + this.#results.length === 0) return;
    const message: FromWorker = { kind: 'results', reports: this.#reports, results: this.#results };
    this.#reports = [];
    this.#results = [];
    if (!this.#send(message)) await new Promise((resolve) => this.#pipe.once('drain', resolve));
  }

  /** Sends the rest and closes the pipe. */
  async close(): Promise<void> {
    await this.flush();
    await new Promise<void>((resolve) => this.#pipe.end(resolve));
  }

  #ask<Answer>(question: Question): Promise<Answer> {
    const id = ++this.#lastQuestion;
    // Earlier reports come first: they may free what is asked for.
    void this.flush();
    return new Promise((resolve) => {
      this.#questions.set(id, resolve);
      this.#send({ kind: 'question', id, question });
    });
  }

  #send(message: FromWorker): boolean {
    return sendFrame(this.#pipe, JSON.stringify(message));
  }
}
