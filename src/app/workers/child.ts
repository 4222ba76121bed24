import { Socket } from 'node:net';
import type { StopReason } from '../../core/workers/closing.ts';
import { Gates } from '../../engine/gates.ts';
import { createClock } from '../../io/clock/clock.ts';
import { PipeLink } from '../../io/workers/pipe-link.ts';
import { RunReports } from '../../io/workers/run-reports.ts';
import { errorForm, type ToWorker, type UnitItem } from '../../io/workers/wire-form.ts';
import { limitYoungGeneration } from '../heap-limit.ts';
import type { Manifest } from './manifest.ts';
import { prepareRun, WorkerRun } from './worker-run.ts';

/** The file descriptor of the pipe to the parent. */
const pipeFd = 3;

/** Passes records of a run in a child process, which the parent talks to over a pipe. Ends the process. */
export async function childProcess(): Promise<void> {
  const pipe = new Socket({ fd: pipeFd, readable: true, writable: true });
  const child = new ChildWorker(pipe);
  // The parent is dead, or the pipe is broken.
  pipe.on('error', () => process.exit(1));
  pipe.on('end', () => child.hasEnded || process.exit(1));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, (error) => void child.fail(error));
  await child.ended.catch((error: unknown) => child.fail(error));
  process.exit(0);
}

class ChildWorker {
  readonly ended: Promise<void>;
  hasEnded = false;
  readonly #pipe: PipeLink;
  readonly #link: RunReports;
  readonly #clock = createClock();
  readonly #gates: Gates;
  /** Calls for the run that came before it was prepared. */
  #early: ((run: WorkerRun) => void)[] = [];
  #run: WorkerRun | undefined;
  #begin: (manifest: Manifest) => void = () => undefined;

  constructor(pipe: Socket) {
    this.#pipe = new PipeLink(pipe, { unit: (items) => this.#add(items), told: (message) => this.#told(message) });
    this.#link = new RunReports(this.#pipe);
    this.#gates = new Gates(this.#clock, (gate) => this.#pipe.permitsOf(gate));
    this.ended = new Promise<Manifest>((resolve) => {
      this.#begin = resolve;
    }).then((manifest) => this.#pass(manifest));
  }

  /** Reports an error, which ends the run, and exits. */
  async fail(error: unknown): Promise<never> {
    this.#link.tell({ kind: 'error', error: errorForm(error) });
    await this.#pipe.close();
    return process.exit(1);
  }

  #add(items: readonly UnitItem[]): void {
    this.#withRun((run) => run.add(items));
  }

  #told(message: Exclude<ToWorker, { kind: 'answer' }>): void {
    if (message.kind === 'run') this.#begin(message.manifest as Manifest);
    if (message.kind === 'pause') this.#gates.pauseHere(message.gate, message.waitMs);
    if (message.kind === 'end') this.#withRun((run) => run.end());
    if (message.kind === 'closing') this.#withRun((run) => run.close(message));
  }

  #withRun(act: (run: WorkerRun) => void): void {
    if (this.#run) act(this.#run);
    else this.#early.push(act);
  }

  async #pass(manifest: Manifest): Promise<void> {
    const link = this.#link;
    const prepared = await prepareRun(manifest, (message) => link.add({ kind: 'warning', message }));
    limitYoungGeneration();
    const leave = (reason: StopReason) => link.tell({ kind: 'closing', phase: 'finishing', reason });
    const run = new WorkerRun(prepared, { link, clock: this.#clock, gates: this.#gates, unanswered: leave });
    this.#run = run;
    for (const act of this.#early) act(run);
    this.#early = [];
    await run.ended;
    this.hasEnded = true;
    await this.#pipe.close();
  }
}
