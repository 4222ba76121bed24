import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import type { Trace } from '../core/action.ts';
import { type CodedMessage, detailsOf } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import { AutomateError, errorOf } from '../core/failure.ts';
import { orUndefined } from '../core/value/value.ts';
import { Gates } from '../engine/gates.ts';
import type { StopReason } from '../engine/phase.ts';
import { type Run, startRun } from '../engine/run.ts';
import { createClock } from '../files/clock.ts';
import { statOf } from '../files/stat.ts';
import { untouched } from '../output/output.ts';
import { type Claim, claimOutput } from '../output/output-claim.ts';
import { canResume } from '../output/output-plan.ts';
import { inputPaths, refuseWithoutFolder } from '../records/inputs.ts';
import type { RecordSource } from '../records/source.ts';
import { givenNamesText } from '../report/early-warnings.ts';
import { checkFields, readDataFiles } from './flow-file.ts';
import { limitYoungGeneration } from './heap-limit.ts';
import { openRun } from './open-run.ts';
import type { OpenRun, RunRequest, RunSurroundings, Workers } from './run-request.ts';
import { completeAlready, concludeRun, failedRun, type RunResult } from './run-result.ts';

export interface Stop extends StopReason {
  /** If undefined, the exit code depends on how the run ended. */
  readonly exitCode?: number;
}

/** Controls a run, from when it claims its output until everything is written. */
export interface RunHandle {
  /** True if the first records might have started. */
  readonly hasStarted: boolean;
  readonly ended: Promise<RunResult>;
  /** Starts no further records. Aborts the records that are still open after the reason's `patienceMs`. */
  stop(reason: Stop): void;
  abort(): void;
  /** Releases the output and stops waiting for named pipes. Used by a process that is about to exit. */
  release(): void;
}

/** After a stop, waits for named pipes are ended at this interval in ms, because a run can open one pipe after another. */
const endWaitsEveryMs = 1000;

/** Runs a flow over a whole input, for the command line and the server. Calls with a single record use a FlowRuntime instead. */
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

  #releaseData: () => void = () => undefined;

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
      // The signal that stopped this run also ended the program that reads its output. So the closed pipe is not an error.
      return stopCode !== undefined && isOfClosedPipe(result.error) ? { ...result, exitCode: stopCode, error: undefined } : result;
    } finally {
      clearInterval(this.#waits);
      await this.#surroundings.workers?.close();
      this.#releaseData();
      this.#claim?.memory?.gone?.close();
      this.#claim?.release();
    }
  }

  async #claimAndRun(): Promise<RunResult> {
    const { id = randomUUID(), plan, flow, options, files, retried, startsOver = false } = this.#request;
    refuseWithoutFolder(plan, options);
    const { messages, warn = messages.warn, workers } = this.#surroundings;
    await workers?.prepare(this.#request, { ...messages, warn });
    this.#releaseData = await readDataFiles(plan, { shared: options.workers !== undefined });
    const claim = await claimOutput({ file: flow, plan, run: id }, options, files, retried && { list: retried, startsOver });
    this.#claim = claim;
    if (claim.earlier) return completeAlready(claim.earlier);
    const gone = claim.memory?.gone;
    if (gone?.canReadFirst) await gone.readFirst(await this.#request.open(untouched));
    const source = await this.#openSource(claim);
    try {
      for (const note of source.notes) this.#surroundings.noted?.(note);
      if (source.header || options.noInput) checkFields(plan, flow, source.header ?? []);
      this.#surroundings.checked?.(source.firstFields);
      const unnamed = givenNamesText(source.givenNames);
      if (unnamed !== undefined) warn(unnamed);
      const run = await openRun({ request: this.#request, claim, source }, this.#surroundings);
      this.#run = run;
      return await this.#runRecords(run);
    } finally {
      await source.close();
    }
  }

  /** With records that are compared while they are read, a resumed run reads the whole input again. */
  async #openSource({ from, memory }: Claim): Promise<RecordSource> {
    const gone = memory?.gone;
    if (!gone || gone.canReadFirst) return this.#request.open(from);
    return gone.watch(await this.#request.open(untouched));
  }

  async #runRecords(run: OpenRun): Promise<RunResult> {
    const { plan, options, pilot } = this.#request;
    const { session, source, events, input, output } = run;
    const { gates = new Gates(this.#clock) } = this.#surroundings;
    limitYoungGeneration();
    let workers: Workers | undefined;
    try {
      await this.#surroundings.started?.(run, () => this.#started?.waiting() ?? 0);
      const trace = this.#traceOf(run);
      workers = await this.#openWorkers(run, trace);
      const parts = { input, output, ports: session.ports, gates, trace, passage: workers?.passage };
      const started = startRun(plan, parts, pilot ? { ...options, unordered: true, ending: 'pilot' } : options);
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
      // Ignores errors while closing, because an earlier error is already being reported. If credits could not be written, they stay in the
      // ledger's log, and the next run writes them.
      await session.close().catch(() => undefined);
      await run.answers?.close().catch(() => undefined);
      await events?.close().catch(() => undefined);
    }
  }

  async #openWorkers(run: OpenRun, attempt: Trace | undefined): Promise<Workers | undefined> {
    const { messages, warn = messages.warn, waitingForWorkers: waiting, workers } = this.#surroundings;
    const opened = await workers?.open(run, { attempt, warn, waiting });
    run.progress.workers = opened?.figures;
    return opened;
  }

  /** Undefined if nothing needs the attempts: no report, and no `attempt` function. */
  #traceOf({ progress, request }: OpenRun): Trace | undefined {
    const { attempt } = this.#surroundings;
    if (!attempt && request.options.report === undefined) return undefined;
    return (made) => {
      progress.statuses.add(made);
      attempt?.(made);
    };
  }

  #endWaits(): void {
    const { options, files } = this.#request;
    endWaitsForPipes(inputPaths(options), [files.out, files.errors, options.events, options.summary]);
  }
}

/** Writes finished records even if the run fails. */
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

/** If a secret command failed before the run did anything, removes the run's files and throws an AutomateError (`credential`). */
async function refuseUnbegun({ claim, progress, session }: OpenRun, ending: Ending): Promise<void> {
  const { stop, read, parked } = progress.tally;
  if (ending !== 'refused-credential' || detailsOf(stop, 'credential')?.remedy !== 'command') return;
  if (claim.from.records + read + parked + session.ports.credits() > 0) return;
  await claim.undo?.();
  throw errorOf('credential', stop as CodedMessage);
}

/** True if the program that reads the output had closed the pipe. */
function isOfClosedPipe(error: unknown): boolean {
  return error instanceof AutomateError && (error.kind === 'stdout-closed' || isOfClosedPipe(error.cause));
}

/**
 * A wait for a named pipe would keep the process from exiting: opening waits for the other end, and reading for data. So this function
 * briefly opens both ends (as Linux allows, see fifo(7)), and writes a line break into the input pipes.
 */
function endWaitsForPipes(inputs: readonly string[], outputs: readonly (string | undefined)[]): void {
  for (const path of [...inputs, ...outputs]) {
    if (path !== undefined && statOf(path)?.isFIFO()) orUndefined(() => openBriefly(path, inputs.includes(path)));
  }
}

function openBriefly(path: string, isInput: boolean): void {
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    if (isInput) writeSync(pipe, '\n');
  } finally {
    closeSync(pipe);
  }
}
