import type { Duplex } from 'node:stream';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import { type Results, RunLink } from '../run-link.ts';
import { onFrames, sendFrame } from './frames.ts';
import {
  type FromWorker,
  isUnit,
  processChannel,
  type ToProcess,
  type ToWorker,
  type UnitItem,
  unitItems,
  type WorkerQuestion,
} from './wire-form.ts';

interface PipeListener {
  unit(channel: number, items: readonly UnitItem[]): void;
  told(channel: number, message: Exclude<ToWorker, { kind: 'answer' }>): void;
}

export class ChildPipe {
  readonly #pipe: Duplex;
  readonly #questions = new Map<number, (value: never) => void>();
  #lastQuestion = 0;

  constructor(pipe: Duplex, listener: PipeListener) {
    this.#pipe = pipe;
    // The limit on listeners is removed, because every flush that waits for a full pipe adds a listener for `drain`.
    pipe.setMaxListeners(0);
    onFrames(pipe, (channel, text) => {
      if (isUnit(text)) return listener.unit(channel, unitItems(text));
      const message = JSON.parse(text) as ToWorker;
      if (message.kind !== 'answer') return listener.told(channel, message);
      this.#questions.get(message.id)?.(message.value as never);
      this.#questions.delete(message.id);
    });
  }

  /** Returns functions for a gate that all child processes share. They reserve request starts, and pause the gate for all processes. */
  permitsOf(gate: string): Permits {
    return {
      reserve: (intervalMs, count) => this.ask<ReservedStarts>(processChannel, (id) => ({ kind: 'reserve', id, gate, intervalMs, count })),
      release: () => void this.send(processChannel, { kind: 'release', gate }),
      pause: (waitMs, isPaced) => void this.send(processChannel, { kind: 'pause', gate, waitMs, isPaced }),
    };
  }

  linkOf(channel: number): PipeLink {
    return new PipeLink(this, channel);
  }

  /** If the pipe is full, returns a promise that resolves when more can be sent. */
  send(channel: number, message: FromWorker | ToProcess): Promise<void> | undefined {
    if (sendFrame(this.#pipe, channel, JSON.stringify(message))) return undefined;
    return new Promise((resolve) => this.#pipe.once('drain', resolve));
  }

  ask<Answer>(channel: number, question: (id: number) => FromWorker | ToProcess): Promise<Answer> {
    const id = ++this.#lastQuestion;
    return new Promise((resolve: (value: never) => void) => {
      this.#questions.set(id, resolve);
      void this.send(channel, question(id));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#pipe.end(resolve));
  }
}

class PipeLink extends RunLink {
  readonly #pipe: ChildPipe;
  readonly #channel: number;

  constructor(pipe: ChildPipe, channel: number) {
    super();
    this.#pipe = pipe;
    this.#channel = channel;
  }

  protected deliver(results: Results): Promise<void> | undefined {
    return this.#pipe.send(this.#channel, { kind: 'results', ...results });
  }

  protected ask(question: WorkerQuestion): Promise<unknown> {
    return this.#pipe.ask(this.#channel, (id) => ({ kind: 'question', id, question }));
  }

  /** Tells the run that the child process has sent everything and has finished its work. */
  end(): void {
    void this.#pipe.send(this.#channel, { kind: 'ended' });
  }
}
