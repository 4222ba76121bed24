import { Socket } from 'node:net';
import { Gates } from '../engine/gates.ts';
import type { StopReason } from '../engine/phase.ts';
import { createClock } from '../files/clock.ts';
import { limitYoungGeneration } from '../run/heap-limit.ts';
import type { Manifest } from './manifest.ts';
import { ChildPipe } from './processes/pipe-link.ts';
import { errorForm, type ToWorker, type UnitItem } from './processes/wire-form.ts';
import type { RunLink } from './run-link.ts';
import { prepareRun, WorkerRun, type WorkerRunParts } from './worker-run.ts';

/** The file descriptor of the pipe to the parent process. */
const pipeFd = 3;

export function childProcess(): void {
  const pipe = new Socket({ fd: pipeFd, readable: true, writable: true });
  const child = new ChildWorker(pipe);
  // Service managers send signals to all processes of a service. Only the parent process handles them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // The parent process has closed the pipe or has died.
  pipe.on('end', () => process.exit(0));
  pipe.on('error', () => process.exit(1));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, (error) => void child.fail(error));
}

type Told = Exclude<ToWorker, { kind: 'answer' }>;

class ChildWorker {
  readonly #pipe: ChildPipe;
  readonly #clock = createClock();
  readonly #gates: Gates;
  /** The parent's runs, keyed by the numbers of their channels on the pipe. */
  readonly #runs = new Map<number, ChildRun>();

  constructor(pipe: Socket) {
    this.#pipe = new ChildPipe(pipe, {
      unit: (channel, items) => this.#runs.get(channel)?.add(items),
      told: (channel, message) => this.#told(channel, message),
    });
    this.#gates = new Gates(this.#clock, (gate) => this.#pipe.permitsOf(gate));
  }

  /** Reports an error, which ends all runs, and then exits the process. */
  async fail(error: unknown): Promise<never> {
    for (const run of this.#runs.values()) run.fail(error);
    await this.#pipe.close();
    return process.exit(1);
  }

  #told(channel: number, message: Told): void {
    if (message.kind === 'pause') this.#gates.pausedElsewhere(message.gate, message.waitMs, message.isPaced);
    else if (message.kind === 'run') this.#begin(channel, message.manifest as Manifest);
    else this.#runs.get(channel)?.told(message);
  }

  #begin(channel: number, manifest: Manifest): void {
    const link = this.#pipe.linkOf(channel);
    const run = new ChildRun(manifest, link, { clock: this.#clock, gates: this.#gates });
    this.#runs.set(channel, run);
    void run.ended.catch(run.fail).then(() => {
      this.#runs.delete(channel);
      link.end();
    });
  }
}

class ChildRun {
  readonly #link: RunLink;
  /** Resolves when this process has reported the results of all records to the parent. */
  readonly ended: Promise<void>;
  /** Calls that arrived before the run was prepared. They are made once it is prepared. */
  #early: ((run: WorkerRun) => void)[] = [];
  #run: WorkerRun | undefined;

  constructor(manifest: Manifest, link: RunLink, parts: Pick<WorkerRunParts, 'clock' | 'gates'>) {
    this.#link = link;
    this.ended = this.#pass(manifest, parts);
  }

  add(items: readonly UnitItem[]): void {
    this.#withRun((run) => run.add(items));
  }

  told(message: Exclude<Told, { kind: 'run' | 'pause' }>): void {
    if (message.kind === 'end') this.#withRun((run) => run.end());
    else this.#withRun((run) => run.close(message));
  }

  readonly fail = (error: unknown): void => this.#link.tell({ kind: 'error', error: errorForm(error) });

  #withRun(act: (run: WorkerRun) => void): void {
    if (this.#run) act(this.#run);
    else this.#early.push(act);
  }

  async #pass(manifest: Manifest, parts: Pick<WorkerRunParts, 'clock' | 'gates'>): Promise<void> {
    const link = this.#link;
    const prepared = await prepareRun(manifest, { warn: (message) => link.add({ kind: 'warning', message }) });
    limitYoungGeneration();
    const leave = (reason: StopReason) => link.tell({ kind: 'closing', phase: 'finishing', reason });
    const run = new WorkerRun(prepared, { link, ...parts, unanswered: leave });
    this.#run = run;
    for (const act of this.#early) act(run);
    this.#early = [];
    await run.ended;
  }
}
