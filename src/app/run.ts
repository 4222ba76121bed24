import type { Trace } from '../core/action.ts';
import { type CodedMessage, detailsOf } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import { AutomateError, errorOf, invalidOption } from '../core/failure.ts';
import { allSteps, dataFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import type { StopReason } from '../core/workers/closing.ts';
import { Gates } from '../engine/gates.ts';
import { type Run, startRun } from '../engine/run.ts';
import { createClock } from '../io/clock/clock.ts';
import { endWaitsForPipes } from '../io/files/pipe.ts';
import { checkFields, readDataFiles } from './flow/flow-file.ts';
import { limitYoungGeneration } from './heap-limit.ts';
import { refuseWithoutFolder } from './input/files-folder.ts';
import { inputPaths, isTable } from './input/input.ts';
import { openRun } from './open-run.ts';
import { type Claim, claimOutput } from './output/output-claim.ts';
import { canResume } from './output/output-plan.ts';
import type { OpenRun, RunRequest, RunSurroundings } from './run-request.ts';
import { completeAlready, concludeRun, failedRun, type RunResult } from './run-result.ts';
import type { OpenQueue } from './workers/open-queue.ts';
import type { Workers } from './workers/open-workers.ts';

/** The reason for stopping a run. */
export interface Stop extends StopReason {
  /** The exit code of a run that this stop has ended; undefined for the one of its ending. */
  readonly exitCode?: number;
}

/** A run under way, from the claim of its output to the last file about it. */
export interface RunHandle {
  /** True once records may have started. */
  readonly hasStarted: boolean;
  /** Resolves once everything is written and closed. */
  readonly ended: Promise<RunResult>;
  /** Starts no more records, and aborts those under way once the patience of the reason is over. */
  stop(reason: Stop): void;
  /** Aborts the records under way. */
  abort(): void;
  /** Gives the output up and ends waits for named pipes, for a process that is about to exit. */
  release(): void;
}

/** Named pipes may be opened one after another. */
const endWaitsEveryMs = 1000;

/**
 * Runs a flow over its records: claims the output, opens the input, passes every record through the chain, and writes what comes of it. The
 * command line and the server run a flow over a file by this function alone; calls of single records take a FlowRuntime.
 */
export function runFlow(request: RunRequest, surroundings: RunSurroundings): RunHandle {
  return new FlowRun(request, surroundings);
}

class FlowRun implements RunHandle {
  readonly ended: Promise<RunResult>;
  readonly #request: RunRequest;
  readonly #surroundings: RunSurroundings;
  readonly #clock = createClock();
  #claim: Claim | undefined;
  #run: OpenRun | undefined;
  #started: Run | undefined;
  #stop: Stop | undefined;
  #isAborted = false;
  #waits: NodeJS.Timeout | undefined;
  #queue: OpenQueue | undefined;
  /** The queue, if no other run uses it. */
  #ownQueue: OpenQueue | undefined;

  constructor(request: RunRequest, surroundings: RunSurroundings) {
    this.#request = request;
    this.#surroundings = surroundings;
    this.ended = this.#toEnd();
  }

  get hasStarted(): boolean {
    return this.#started !== undefined;
  }

  stop(reason: Stop): void {
    if (this.#stop) return;
    this.#stop = reason;
    this.#started?.phase.advance('finishing', reason);
    this.#endWaits();
    this.#waits = setInterval(() => this.#endWaits(), endWaitsEveryMs);
    this.#waits.unref();
    const { patienceMs } = reason;
    if (patienceMs !== undefined) void this.#clock.sleepUntil(this.#clock.now() + patienceMs).then(() => this.abort());
  }

  abort(): void {
    this.#isAborted = true;
    this.#started?.phase.advance('stopped', this.#stop);
  }

  release(): void {
    this.#claim?.release();
    this.#endWaits();
  }

  async #toEnd(): Promise<RunResult> {
    try {
      const result = await this.#claimAndRun().catch((error: unknown) => failedRun(error, this.#run));
      const stopCode = this.#stop?.exitCode;
      // The reader of an output has left because of the same signal.
      return stopCode !== undefined && isOfClosedPipe(result.error) ? { ...result, exitCode: stopCode, error: undefined } : result;
    } finally {
      clearInterval(this.#waits);
      await this.#ownQueue?.close();
      this.#claim?.release();
    }
  }

  async #claimAndRun(): Promise<RunResult> {
    const { plan, flow, options, files, retried, startsOver = false } = this.#request;
    refuseWithoutFolder(plan, options);
    if (options.workers !== undefined) refuseOneProcess(plan, 'workers');
    if (options.queue !== undefined) await this.#openQueue(plan, options.queue);
    await readDataFiles(plan);
    const claim = await claimOutput({ file: flow, plan }, options, files, retried && { list: retried, startsOver });
    this.#claim = claim;
    if (claim.earlier) return completeAlready(claim.earlier);
    const source = await this.#request.open(claim.from);
    try {
      if (isTable(source.format) || options.noInput) checkFields(plan, flow, source.columns ?? []);
      this.#surroundings.checked?.(source.columns);
      const run = await openRun({ request: this.#request, claim, source }, this.#surroundings);
      this.#run = run;
      return await this.#runRecords(run);
    } finally {
      await source.close();
    }
  }

  async #runRecords(run: OpenRun): Promise<RunResult> {
    const { plan, options } = this.#request;
    const { unordered = false, maxErrors, keepGoing: keepsGoing = false } = options;
    const { session, source, events, input, output } = run;
    const { gates = new Gates(this.#clock) } = this.#surroundings;
    limitYoungGeneration();
    let workers: Workers | undefined;
    try {
      await this.#surroundings.started?.(run, () => this.#started?.waiting() ?? 0);
      const trace = this.#traceOf(run);
      workers = await this.#openWorkers(run, trace);
      const parts = { input, output, ports: session.ports, gates, trace, passage: workers?.passage };
      const started = startRun(plan, parts, { unordered, maxErrors, keepsGoing });
      this.#started = started;
      started.phase.onPhase(() => void source.close());
      if (this.#stop) started.phase.advance(this.#isAborted ? 'stopped' : 'finishing', this.#stop);
      const ending = await closeOutput(started.ended, run);
      this.#surroundings.recordsEnded?.();
      const usage = await session.close();
      await refuseUnbegun(run, ending);
      return await concludeRun(run, { ending, stopCode: this.#stop?.exitCode, usage });
    } finally {
      workers?.kill();
      // The first error matters. What the ledger has not written stays in its log, for the next run.
      await session.close().catch(() => undefined);
      await events?.close().catch(() => undefined);
    }
  }

  /** Starts the workers of a run; undefined if its records pass the nodes in this process. */
  async #openWorkers(run: OpenRun, trace: Trace | undefined): Promise<Workers | undefined> {
    const { workers } = run.request.options;
    const { warn = this.#surroundings.messages.warn, waitingForWorkers: waiting } = this.#surroundings;
    let opened: Workers | undefined;
    if (this.#queue) {
      const { openQueueWorkers } = await import('./workers/queue-workers.ts');
      opened = await openQueueWorkers(run, this.#queue, { attempt: trace, warn, ...(waiting && { waiting }) });
    } else if (workers !== undefined) {
      const { openWorkers } = await import('./workers/open-workers.ts');
      opened = openWorkers(run, workers, trace, warn);
    }
    run.progress.workers = opened?.figures;
    return opened;
  }

  /** Opens the queue of the run, before anything is claimed or sent. */
  async #openQueue(plan: Plan, queue: string): Promise<void> {
    refuseOneProcess(plan, 'queue');
    refuseOneMachine(plan);
    const { options } = this.#request;
    const { messages, queue: given } = this.#surroundings;
    const { openQueue } = await import('./workers/open-queue.ts');
    this.#queue = given ?? (await openQueue({ ...options, queue }, { ...messages, warn: this.#surroundings.warn ?? messages.warn }));
    if (!given) this.#ownQueue = this.#queue;
  }

  /** Watches the attempts; undefined if neither the report nor a follower needs them. */
  #traceOf({ progress, request }: OpenRun): Trace | undefined {
    const { attempt } = this.#surroundings;
    if (!attempt && request.options.report === undefined) return undefined;
    return (made) => {
      progress.addAttempt(made);
      attempt?.(made);
    };
  }

  #endWaits(): void {
    const { options, files } = this.#request;
    endWaitsForPipes(inputPaths(options), [files.out, files.errors, options.events, options.summary]);
  }
}

/** Waits for the end of the records and closes the output, so that finished records are written whatever happens. */
async function closeOutput(ended: Promise<Ending>, { output, request }: OpenRun): Promise<Ending> {
  try {
    const ending = await ended;
    await output.close(ending === 'complete');
    return ending;
  } catch (error) {
    await output.close(false).catch(() => undefined);
    const { options, files } = request;
    if (!(error instanceof AutomateError)) throw error;
    const { kind, message } = error;
    const { records, written, failed } = output.saved();
    if (kind === 'input' && (!options.replace || files.isStreamed))
      throw new AutomateError(kind, message, { code: 'input-broken', details: { records, written, failed, files }, cause: error });
    if (kind !== 'output' || !canResume(files)) throw error;
    throw new AutomateError(kind, message, { code: 'output-broken', details: { records }, cause: error });
  }
}

/** Throws the AutomateError (`credential`) of a command that gave no secret before anything was done. Then the run leaves no file. */
async function refuseUnbegun({ claim, progress, session }: OpenRun, ending: Ending): Promise<void> {
  const { stop, read, parked } = progress.tally;
  if (ending !== 'refused-credential' || detailsOf(stop, 'credential')?.remedy !== 'command') return;
  if (claim.from.records + read + parked + session.ports.credits() > 0) return;
  await claim.undo?.();
  throw errorOf('credential', stop as CodedMessage);
}

/** Throws an AutomateError (`usage`) for a flow that only one process can run: it knows which files it has saved, or asks a public server one by one. */
function refuseOneProcess(plan: Plan, option: 'workers' | 'queue'): void {
  if (usesFiles(plan)) throw invalidOption(option, 'expected a flow that sends and saves no files');
  const isPublic = allSteps(plan.steps).some(({ node }) => node.action?.lookup?.publicServer !== undefined);
  if (isPublic) throw invalidOption(option, 'expected a flow that asks no public server, which takes one request at a time');
}

/** Throws an AutomateError (`usage`) for a flow that needs this machine: a program that it starts, or data in a file. */
function refuseOneMachine(plan: Plan): void {
  const local = plan.tools.find(({ connection }) => 'command' in connection);
  if (local) throw invalidOption('queue', 'expected a flow whose MCP servers are reached over HTTP, found one that is a command');
  const file = dataFilesOf(plan)[0];
  if (file !== undefined) throw invalidOption('queue', `expected a flow without files of its own, found ${file}`);
}

/** True if the reader of an output has left. */
function isOfClosedPipe(error: unknown): boolean {
  return error instanceof AutomateError && (error.kind === 'stdout-closed' || isOfClosedPipe(error.cause));
}
