import type { Ending } from '../../core/event.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { type Run, startRun } from '../../engine/run.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import type { Usage } from '../../io/ledger/holds.ts';
import type { RunLedger } from '../../io/ledger/run-ledger.ts';
import type { FileOutput } from '../../io/output/output.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { dryRun } from '../dry-run/dry-run.ts';
import { exitCodeOf, exitCodeOfRun, signalExitCode } from '../exit.ts';
import { checkFields, loadFlowFor, tellWarnings } from '../flow/flow-file.ts';
import { type FlowSecrets, loadSecrets } from '../flow/flow-secrets.ts';
import { hasTextCells, inputFormat, isTable, openInput } from '../input-options.ts';
import { count, counted } from '../show/number.ts';
import { counting, createPauses, createProgressLine, type ProgressShow, shareDone, showLines, showSpinner } from '../show/progress.ts';
import { type SummaryFacts, stoppedText, summaryJson, summaryText } from '../show/summary.ts';
import { addToTally, createTally, type Tally } from '../show/tally.ts';
import type { Terminal } from '../terminal.ts';
import { wire } from '../wire.ts';
import { type EventsFile, openEvents } from './events-file.ts';
import { boundYoungGeneration } from './heap-limit.ts';
import { goingOn, nextSteps, resumeCommand } from './next-steps.ts';
import { type Claim, claimOutput } from './output-claim.ts';
import { type OutputPlan, openOutput, planOutput } from './output-files.ts';
import { openRunLedger, pricesOf } from './run-ledger.ts';
import type { RunOptions } from './run-options.ts';
import { chosen } from './selected-records.ts';
import { endOnSignal, watchSignals } from './signals.ts';
import { beginSummary, writeSummary } from './summary-file.ts';

/** Runs a flow over the records of a file; answers the exit code. */
export async function runCommand(flow: string, options: RunOptions, terminal: Terminal): Promise<number> {
  const { allowHttp = false, concurrency, rate: intervalMs } = options;
  const plan = await loadFlowFor(options, flow, { allowHttp, textCells: hasTextCells(options), concurrency, intervalMs });
  if (options.dryRun && options.resume) throw new AutomateError('usage', '--dry-run plans a run from its beginning: leave --resume out');
  if (options.dryRun) return dryRunCommand(flow, plan, options, terminal);
  const files = planOutput(options, inputFormat(options));
  let claim: Claim | undefined;
  const beforehand = endOnSignal(terminal, () => claim?.release());
  try {
    claim = await claimOutput({ file: flow, plan }, options, files);
    const source = await openInput(options, claim.from);
    try {
      checkTable(plan, flow, source);
      if (!options.quiet) tellWarnings(plan, flow, terminal, source.columns);
      const credentials = await loadSecrets(plan, flow, options, terminal);
      return await runOver(plan, source, { flow, options, files, credentials, claim, terminal, beforehand });
    } finally {
      await source.close();
    }
  } finally {
    beforehand.stop();
    claim?.release();
  }
}

async function dryRunCommand(flow: string, plan: Plan, options: RunOptions, terminal: Terminal): Promise<number> {
  const source = await openInput(options);
  try {
    checkTable(plan, flow, source);
    if (!options.quiet) tellWarnings(plan, flow, terminal, source.columns);
    const { format } = planOutput(options, inputFormat(options));
    return await dryRun({ flow, plan, options, records: chosen(source, { options, plan, format }) }, terminal);
  } finally {
    await source.close();
  }
}

function checkTable(plan: Plan, flow: string, source: Source): void {
  if (isTable(source.format)) checkFields(plan, flow, source.columns ?? []);
}

interface RunParts {
  readonly flow: string;
  readonly options: RunOptions;
  readonly files: OutputPlan;
  readonly credentials: FlowSecrets;
  readonly claim: Claim;
  readonly terminal: Terminal;
  /** Listens to signals while there is no run. */
  readonly beforehand: { stop(): void };
}

async function runOver(plan: Plan, source: Source, parts: RunParts): Promise<number> {
  const { options, terminal } = parts;
  boundYoungGeneration();
  const opened = await openRun(plan, source, parts);
  const { tally, events, ledger, ports, output, input } = opened;
  const show = await showProgress(opened, source, parts);
  const startedMs = ports.clock.now();
  const run = startRun(plan, input, output, ports, {
    unordered: options.unordered ?? false,
    maxErrors: options.maxErrors,
  });
  const signals = watchSignals(run.stopping, ports.clock, terminal);
  parts.beforehand.stop();
  run.stopping.signal.addEventListener('abort', () => void source.close());
  try {
    const ending = await endOf(run, output, parts);
    show?.stop();
    await ports.close();
    const usage = ledger.close();
    return await conclude({ ending, signal: signals.received(), tally, output, credits: ports.credits(), usage, events }, parts);
  } catch (error) {
    const soFar = { ...tally, ms: ports.clock.now() - startedMs };
    await noteProblem(error, { tally: soFar, output, credits: ports.credits() }, parts);
    throw error;
  } finally {
    show?.stop();
    signals.stop();
    await ports.close();
    closeAfterError(ledger);
    await parts.credentials.noted();
    await events?.close();
  }
}

/** Everything that a run needs: where it is counted, paid, told and written. */
async function openRun(plan: Plan, source: Source, { options, files, credentials, claim, terminal }: RunParts) {
  const tally = createTally();
  const pauses = createPauses(() => ports.clock.now());
  if (options.summary !== undefined) await beginSummary(options.summary);
  const events = await openEvents(options.events, terminal.redactor, options.resume ?? false);
  const warn = (message: string) => options.quiet || terminal.tell(`${terminal.colors.yellow('warning:')} ${message}`);
  const ledger = await openRunLedger(pricesOf(plan, options.env), {
    run: claim.run,
    env: options.env,
    most: options.maxCredits,
    before: claim.from.credits,
    isFree: options.isFree,
    warn,
  });
  const ports = wire({
    run: claim.run,
    credentials,
    redactor: terminal.redactor,
    allowHttp: options.allowHttp ?? false,
    cacert: options.cacert,
    ledger,
    env: options.env,
    report(event) {
      addToTally(tally, event);
      events?.add(event);
      if (event.type === 'gate-paused') pauses.add(event.gate, event.waitMs);
      // Nobody waits any longer for a stream that says nothing.
      if (event.type === 'stopping') void source.close();
    },
    warn,
  });
  const inputColumns = source.columns ?? [];
  const from = { ...claim.from, records: Math.max(claim.from.records, options.skip ?? 0) };
  const output = await openOutput(files, {
    inputFormat: source.format,
    inputColumns,
    outputColumns: plan.columns(inputColumns),
    redactor: terminal.redactor,
    csvSafe: options.csvSafe ?? false,
    journal: await claim.begin(),
    from,
    credits: () => from.credits + ports.credits(),
  });
  ports.report({ type: 'run-started', flow: plan.name, input: options.in, output: files.out, errors: files.errors });
  const reading = { records: 0, bytesBefore: 0 };
  const input = counting(
    chosen(source, { options, plan, format: files.format, done: from, known: output.known, kept: claim.kept }),
    source.readBytes,
    reading,
  );
  return { tally, pauses, events, ledger, ports, output, reading, input };
}

/** What went wrong before counts, not what goes wrong now; and the ledger's log stays for the next run. */
function closeAfterError(ledger: RunLedger): void {
  try {
    ledger.close();
  } catch {
    // It has been told that something cannot be written.
  }
}

/** Whatever happens, what was finished is written, and the way on is told. */
async function endOf(run: Run, output: FileOutput, { flow, options, files }: RunParts): Promise<Ending> {
  try {
    const ending = await run.ended;
    await output.close(ending === 'complete');
    return ending;
  } catch (error) {
    await output.close(false).catch(() => undefined);
    if (error instanceof AutomateError && error.kind === 'input') throw behindDone(error, output.saved(), files);
    if (!(error instanceof AutomateError) || error.kind !== 'output' || files.isStreamed) throw error;
    const { records } = output.saved();
    const done = `${counted(records, 'record')} ${records === 1 ? 'is' : 'are'} done; when that is mended, go on`;
    throw new AutomateError('output', `${error.message}\n${done}:\n  ${resumeCommand(flow, options)}`, { cause: error });
  }
}

/** An input that cannot be read to its end. What stands before the fault is done. */
function behindDone(error: AutomateError, { records, written, failed }: Checkpoint, files: OutputPlan): AutomateError {
  if (written + failed === 0) return error;
  const others = [...(files.isStreamed ? [] : ['--out']), ...(files.isStreamed && failed === 0 ? [] : ['--errors'])];
  const rest = `--skip ${records}${others.length === 0 ? '' : `, and another ${others.join(' and ')}`}`;
  const done = whereDone(written, failed, files);
  return new AutomateError('input', `${error.message}\n${done}; once it is mended, do the rest with ${rest}`, { cause: error });
}

function whereDone(written: number, failed: number, { out, errors }: OutputPlan): string {
  const before = `${counted(written + failed, 'record')} before that`;
  const [to, failedTo] = [out, errors].map((path) => (path === '-' ? 'stdout' : path));
  if (failed === 0) return `the ${before} went to ${to}`;
  if (written === 0) return `the ${before} failed and went to ${failedTo}`;
  return `of the ${before}, ${count(written)} went to ${to}, and ${count(failed)} failed and went to ${failedTo}`;
}

/** What a run has to show. */
interface Done {
  readonly tally: Tally;
  readonly output: FileOutput;
  /** Spent in this run; a run that it goes on with may have spent more. */
  readonly credits: number;
  /** Absent without an allowance. */
  readonly usage?: Usage | undefined;
}

interface Ended extends Done {
  readonly ending: Ending;
  readonly signal: NodeJS.Signals | undefined;
  readonly events: EventsFile | undefined;
}

async function conclude(ended: Ended, parts: RunParts): Promise<number> {
  const { ending, signal, tally, output, events } = ended;
  const { flow, options, files, terminal } = parts;
  const exitCode = signal === undefined || ending === 'complete' ? exitCodeOfRun(ending, output.saved().failed) : signalExitCode(signal);
  const next = [...nextSteps(ending, tally, output.saved().failed, flow, options, files), ...restoreSteps(tally, parts.credentials)];
  const facts = { ...factsOf(ended, parts), exitCode, next };
  if (!options.quiet) terminal.tell(summaryText(tally, facts, terminal.colors));
  else for (const step of goingOn(ending, tally, flow, options, files)) terminal.tell(stoppedText(tally, step, terminal.colors));
  // Events that cannot be written change the exit code, which the summary tells.
  await events?.close();
  if (options.summary !== undefined) await writeSummary(options.summary, summaryJson(tally, facts), terminal);
  return exitCode;
}

function factsOf({ output, credits, usage }: Done, { flow, options, files, claim }: RunParts): Omit<SummaryFacts, 'exitCode' | 'next'> {
  return {
    flow,
    input: options.in === '-' ? 'stdin' : options.in,
    output: files.out === '-' ? 'stdout' : files.out,
    errors: files.errors === '-' ? 'stdout' : files.errors,
    resumedBehind: claim.from.records,
    outputRecords: output.saved().rows,
    errorRecords: output.saved().failed,
    credits,
    usage,
  };
}

/** What was done and spent until then is in the summary for programs; the problem itself is told in any case. */
async function noteProblem(error: unknown, done: Done, parts: RunParts): Promise<void> {
  const { options, terminal } = parts;
  if (options.summary === undefined || !(error instanceof AutomateError)) return;
  const facts = { ...factsOf(done, parts), exitCode: exitCodeOf(error), problem: error.message, next: [] };
  await writeSummary(options.summary, summaryJson(done.tally, facts), terminal).catch(() => undefined);
}

/** A secret that was set anew may be the wrong one. */
function restoreSteps({ failures }: Tally, credentials: FlowSecrets): SummaryFacts['next'] {
  if (![...failures.values()].some(({ status }) => status === 401 || status === 403)) return [];
  return credentials
    .restoreCommands()
    .map((command) => ({ why: 'if it is the new secret that was refused, go back to the one before it', command }));
}

async function showProgress(
  { tally, pauses, reading, ports }: Awaited<ReturnType<typeof openRun>>,
  source: Source,
  { options, files, claim, terminal }: RunParts,
): Promise<ProgressShow | undefined> {
  if (options.quiet) return undefined;
  const line = createProgressLine(tally, {
    share: () =>
      shareDone({
        totalBytes: source.totalBytes,
        readBytes: source.readBytes(),
        reading,
        doneRecords: tally.read,
        limit: leftOfLimit(options, claim.from),
      }),
    pauses,
    credits: ports.credits,
    now: ports.clock.now,
  });
  // Records on the same screen and a spinner would write over each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line, terminal.colors.level > 0) : showLines(line, terminal.tell);
}

/** How many of the records that are wanted an earlier part of the run has left; absent for all. */
function leftOfLimit({ skip = 0, limit }: RunOptions, { records }: Checkpoint): number | undefined {
  return limit === undefined ? undefined : limit - Math.max(0, records - skip);
}
