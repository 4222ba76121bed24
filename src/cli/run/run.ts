import { signalExitCode } from '../../app/exit-codes.ts';
import { checkFields, printWarnings } from '../../app/flow/flow-file.ts';
import { loadSecrets } from '../../app/flow/flow-secrets.ts';
import { limitYoungGeneration } from '../../app/heap-limit.ts';
import { inputFormat, isTable, openInput } from '../../app/input/input.ts';
import { selectRecords } from '../../app/input/selected-records.ts';
import { type Claim, claimOutput, refuseOutput } from '../../app/output/output-claim.ts';
import { type OutputPlan, planOutput } from '../../app/output/output-plan.ts';
import type { Trace } from '../../core/action.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { startRun } from '../../engine/run.ts';
import { authorities } from '../../io/http/authorities.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import type { RunLedger } from '../../io/ledger/run-ledger.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { dryRun } from '../dry-run/dry-run.ts';
import { attemptText } from '../show/run/attempts.ts';
import type { Terminal } from '../terminal.ts';
import { commandHost, endWaits } from './command-host.ts';
import { concludeRun, endOf, reportProblem } from './conclude.ts';
import { type OpenRun, openRun, type ReadyRun, type RunHost } from './open-run.ts';
import { planRun, readDataFiles } from './run-input.ts';
import type { GivenRunOptions, RunOptions, RunRequest } from './run-options.ts';
import { endOnSignal } from './signals.ts';

/** Runs a flow over the records of a file. Returns the exit code. */
export async function runCommand(given: RunRequest<GivenRunOptions>, terminal: Terminal): Promise<number> {
  const { flow } = given;
  return startOrEnd({ ...given.options, in: given.options.in ?? '-' }, terminal, async (start) => {
    const { plan, request } = await planRun(given, terminal);
    const { options } = request;
    if (options.dryRun) return dryRunCommand(plan, request, terminal);
    const files = planOutput(flow, options, inputFormat(options));
    return runPlanned({ plan, request, files, open: (from) => openInput(options, from) }, start, terminal);
  });
}

/** The start of a run: a signal ends it before anything is sent. */
export interface RunStart {
  claim?: Claim;
  files?: OutputPlan;
  /** Leaves the signals to the run. */
  stop(): void;
}

/** Starts a run. Returns its exit code. */
export async function startOrEnd(
  options: Pick<RunOptions, 'in' | 'events' | 'summary'>,
  terminal: Terminal,
  act: (start: RunStart) => Promise<number>,
): Promise<number> {
  const earlySignals = endOnSignal(terminal, () => {
    start.claim?.release();
    if (start.files) endWaits(options, start.files);
  });
  const start: RunStart = earlySignals;
  try {
    return await act(start);
  } finally {
    earlySignals.stop();
    start.claim?.release();
  }
}

/** A run whose flow is checked. */
export interface PlannedRun extends Pick<ReadyRun, 'plan' | 'request' | 'files' | 'retried'> {
  /** True for a retry that gives up an unfinished one. */
  readonly startsOver?: boolean;
  /** Opens the input at its beginning, or after the records that are done. */
  open(from: Checkpoint): Promise<Source>;
}

/** Claims the output of a run, opens its input, and runs the records. Returns the exit code. */
export async function runPlanned(
  planned: PlannedRun,
  start: RunStart,
  terminal: Terminal,
  host: RunHost = commandHost(start),
): Promise<number> {
  const { plan, request, files, retried, startsOver = false } = planned;
  const { flow, options } = request;
  await readDataFiles(plan);
  start.files = files;
  const claim = await claimOutput({ file: flow, plan }, options, files, retried && { list: retried, startsOver });
  start.claim = claim;
  const source = await planned.open(claim.from);
  try {
    checkInput(plan, source, request, terminal);
    const credentials = await loadSecrets(plan, flow, options, terminal);
    return await runRecords({ request, plan, source, files, claim, credentials, terminal, retried, host });
  } finally {
    await source.close();
  }
}

async function dryRunCommand(plan: Plan, request: RunRequest, terminal: Terminal): Promise<number> {
  const { flow, options } = request;
  if (options.resume) throw new AutomateError('usage', '--dry-run plans a run from its beginning: leave --resume out');
  if (options.report !== undefined) throw new AutomateError('usage', '--dry-run has no report: leave --report out');
  const source = await openInput(options);
  try {
    checkInput(plan, source, request, terminal);
    await readDataFiles(plan);
    const files = planOutput(flow, options, source.format);
    const { format } = files;
    const exitCode = await dryRun({ flow, plan, options, records: selectRecords(source, { options, plan, format }) }, terminal);
    // Ends as the run would, with the plan all the same.
    await refuseOutput(flow, options, files);
    authorities(options.cacert, process.env);
    await loadSecrets(plan, flow, options, terminal);
    return exitCode;
  } finally {
    await source.close();
  }
}

function checkInput(plan: Plan, { format, columns }: Source, { flow, options }: RunRequest, terminal: Terminal): void {
  if (isTable(format) || options.noInput) checkFields(plan, flow, columns ?? []);
  if (!options.quiet) printWarnings(plan, flow, terminal, columns);
}

/** Runs the records of a run that may start. Returns the exit code. */
async function runRecords(ready: ReadyRun): Promise<number> {
  const { plan, source, credentials, host } = ready;
  const { unordered = false, maxErrors, keepGoing: keepsGoing = false } = ready.request.options;
  limitYoungGeneration();
  const run = await openRun(ready);
  const { input, output, ports, ledger, events } = run;
  const follower = await host.follow(run);
  const startedMs = ports.clock.now();
  const parts = { input, output, ports, gates: host.gates, trace: traceOf(run) };
  const started = startRun(plan, parts, { unordered, maxErrors, keepsGoing });
  follower.started(started);
  started.phase.onPhase(() => void source.close());
  try {
    const ending = await endOf(started.ended, run);
    follower.recordsEnded();
    await ports.close();
    return await concludeRun({ ...run, ending, signal: follower.signal(), usage: ledger.close() });
  } catch (error) {
    await reportProblem(error, run, ports.clock.now() - startedMs);
    const signal = follower.signal();
    if (signal !== undefined && isOfClosedPipe(error)) return signalExitCode(signal);
    throw error;
  } finally {
    follower.stop();
    await ports.close();
    closeAfterError(ledger);
    await credentials.usesRecorded();
    await events?.close();
  }
}

/** Watches the attempts of a run; absent if neither its lines nor its report need them. */
function traceOf({ request, terminal, statuses }: OpenRun): Trace | undefined {
  const { verbose, report } = request.options;
  if (!verbose && report === undefined) return undefined;
  return (attempt) => {
    statuses.add(attempt);
    if (verbose) terminal.say(attemptText(attempt));
  };
}

/** Closes the ledger without a second error: the first one matters, and the ledger's log stays for the next run. */
function closeAfterError(ledger: RunLedger): void {
  try {
    ledger.close();
  } catch {
    // The first error is already on its way.
  }
}

/** True if the reader of an output has left. */
function isOfClosedPipe(error: unknown): boolean {
  return error instanceof AutomateError && (error.kind === 'stdout-closed' || isOfClosedPipe(error.cause));
}
