import type { Attempt } from '../../core/action.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { Gates } from '../../engine/gates.ts';
import { startRun } from '../../engine/run.ts';
import { endWaitsForPipes } from '../../io/files/pipe.ts';
import type { RunLedger } from '../../io/ledger/run-ledger.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { dryRun } from '../dry-run/dry-run.ts';
import { signalExitCode } from '../exit.ts';
import { checkFields, printWarnings } from '../flow/flow-file.ts';
import { loadSecrets } from '../flow/flow-secrets.ts';
import { inputFormat, isTable, openInput } from '../input-options.ts';
import { attemptText } from '../show/run/attempts.ts';
import type { Terminal } from '../terminal.ts';
import { concludeRun, endOf, reportProblem } from './conclude.ts';
import { limitYoungGeneration } from './heap-limit.ts';
import { openRun, type ReadyRun } from './open-run.ts';
import { type Claim, claimOutput, refuseOutput } from './output/output-claim.ts';
import { type OutputPlan, planOutput } from './output/output-plan.ts';
import { planRun } from './run-input.ts';
import type { GivenRunOptions, RunRequest } from './run-options.ts';
import { showProgress } from './run-progress.ts';
import { selectRecords } from './selected-records.ts';
import { endOnSignal, watchSignals } from './signals.ts';

/** Runs a flow over the records of a file. Returns the exit code. */
export async function runCommand(given: RunRequest<GivenRunOptions>, terminal: Terminal): Promise<number> {
  const { flow } = given;
  let claim: Claim | undefined;
  let files: OutputPlan | undefined;
  const earlySignals = endOnSignal(terminal, () => {
    claim?.release();
    if (files) endWaits({ ...given.options, in: given.options.in ?? '-' }, files);
  });
  try {
    const { plan, request } = await planRun(given, terminal);
    const { options } = request;
    if (options.dryRun) return await dryRunCommand(plan, request, terminal);
    files = planOutput(flow, options, inputFormat(options));
    claim = await claimOutput({ file: flow, plan }, options, files);
    const source = await openInput(options, claim.from);
    try {
      checkInput(plan, source, request, terminal);
      const credentials = await loadSecrets(plan, flow, options, terminal);
      return await runRecords({ request, plan, source, files, claim, credentials, terminal }, earlySignals);
    } finally {
      await source.close();
    }
  } finally {
    earlySignals.stop();
    claim?.release();
  }
}

async function dryRunCommand(plan: Plan, request: RunRequest, terminal: Terminal): Promise<number> {
  const { flow, options } = request;
  if (options.resume) throw new AutomateError('usage', '--dry-run plans a run from its beginning: leave --resume out');
  const source = await openInput(options);
  try {
    checkInput(plan, source, request, terminal);
    const files = planOutput(flow, options, source.format);
    const { format } = files;
    const exitCode = await dryRun({ flow, plan, options, records: selectRecords(source, { options, plan, format }) }, terminal);
    // Ends as the run would, with the plan all the same.
    await refuseOutput(flow, options, files);
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

/** Runs the records. `earlySignals` listens until the run itself does. */
async function runRecords(ready: ReadyRun, earlySignals: { stop(): void }): Promise<number> {
  const { plan, source, credentials, terminal } = ready;
  const { unordered = false, maxErrors, keepGoing: keepsGoing = false } = ready.request.options;
  limitYoungGeneration();
  const run = await openRun(ready);
  const { input, output, ports, ledger, events } = run;
  const progress = await showProgress(run);
  const startedMs = ports.clock.now();
  const gates = new Gates(ports.clock);
  const trace = ready.request.options.verbose ? (attempt: Attempt) => terminal.say(attemptText(attempt)) : undefined;
  const { phase, ended } = startRun(plan, { input, output, ports, gates, trace }, { unordered, maxErrors, keepsGoing });
  const signals = watchSignals(phase, ports.clock, terminal, () => endWaits(ready.request.options, ready.files));
  earlySignals.stop();
  phase.onPhase(() => void source.close());
  try {
    const ending = await endOf(ended, run);
    progress?.stop();
    await ports.close();
    return await concludeRun({ ...run, ending, signal: signals.received(), usage: ledger.close() });
  } catch (error) {
    await reportProblem(error, run, ports.clock.now() - startedMs);
    const signal = signals.received();
    if (signal !== undefined && error instanceof AutomateError && error.kind === 'stdout-closed') return signalExitCode(signal);
    throw error;
  } finally {
    progress?.stop();
    signals.stop();
    await ports.close();
    closeAfterError(ledger);
    await credentials.usesRecorded();
    await events?.close();
  }
}

function endWaits(options: RunRequest['options'], { out, errors }: OutputPlan): void {
  endWaitsForPipes(options.in, [out, errors, options.events, options.summary]);
}

/** Closes the ledger without a second error: the first one matters, and the ledger's log stays for the next run. */
function closeAfterError(ledger: RunLedger): void {
  try {
    ledger.close();
  } catch {
    // The first error is already on its way.
  }
}
