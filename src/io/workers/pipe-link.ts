import type { Duplex } from 'node:stream';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import { onFrames, sendFrame } from './frames.ts';
import type { Carrier, Results } from './run-reports.ts';
import { type FromWorker, isUnit, type Question, type ToWorker, type UnitItem, unitItems } from './wire-form.ts';

/** Takes what a run tells its worker. */
export interface WorkerListener {
  unit(items: readonly UnitItem[]): void;
  told(message: Exclude<ToWorker, { kind: 'answer' }>): void;
}

/** The end of the pipe in a child process. */
export class PipeLink implements Carrier {
  readonly #pipe: Duplex;
  readonly #questions = new Map<number, (value: never) => void>();
  #lastQuestion = 0;

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

  /** The starts at a gate that all workers share. */
  permitsOf(gate: string): Permits {
    return {
      reserve: (intervalMs, count) => this.ask({ kind: 'reserve', gate, intervalMs, count }) as Promise<ReservedStarts>,
      pause: (waitMs) => void this.deliver({ reports: [{ kind: 'pause', gate, waitMs }], results: [] }),
    };
  }

  deliver(results: Results): Promise<void> | undefined {
    if (this.#write({ kind: 'results', ...results })) return undefined;
    return new Promise((resolve) => this.#pipe.once('drain', resolve));
  }

  ask(question: Question): Promise<unknown> {
    const id = ++this.#lastQuestion;
    return new Promise((resolve) => {
      this.#questions.set(id, resolve);
      this.#write({ kind: 'question', id, question });
    });
  }

  /** Closes the pipe once everything is sent. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#pipe.end(resolve));
  }

  #write(message: FromWorker): boolean {
    return sendFrame(this.#pipe, JSON.stringify(message));
  }
}
