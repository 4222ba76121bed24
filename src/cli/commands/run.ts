import type { Ending } from '../../core/event.ts';
import type { Item } from '../../core/item.ts';
import type { Plan } from '../../core/plan.ts';
import { type Run, startRun } from '../../engine/run.ts';
import type { FileOutput } from '../../io/records/output.ts';
import type { Source } from '../../io/records/source.ts';
import { openEvents } from '../events-file.ts';
import { exitCodeOfRun, signalExitCode } from '../exit.ts';
import { checkFields, loadFlow, loadSecrets, tellWarnings } from '../flow-file.ts';
import { hasTextCells, isTable, openInput } from '../input-options.ts';
import { checkOutput, type OutputPlan, openOutput, planOutput } from '../output-files.ts';
import { createProgressLine, type ProgressShow, showLines, showSpinner } from '../show/progress.ts';
import { type SummaryFacts, summaryJson, summaryText } from '../show/summary.ts';
import { addToTally, createTally, type Tally } from '../show/tally.ts';
import { watchSignals } from '../signals.ts';
import { writeSummary } from '../summary-file.ts';
import type { Terminal } from '../terminal.ts';
import { type WiredPorts, wire } from '../wire.ts';
import { dryRun } from './dry-run.ts';
import { nextSteps } from './next-steps.ts';
import type { RunOptions } from './run-options.ts';

/** Runs a flow over the records of a file; answers the exit code. */
export async function runCommand(flow: string, options: RunOptions, terminal: Terminal): Promise<number> {
  const allowHttp = options.allowHttp ?? false;
  const plan = await loadFlow(flow, { allowHttp, textCells: hasTextCells(options) });
  const source = await openInput(options);
  try {
    if (isTable(source.format)) checkFields(plan, flow, source.columns ?? []);
    if (!options.quiet) tellWarnings(plan, flow, terminal);
    if (options.dryRun) return await dryRun(plan, chosen(source, options), terminal);
    const files = planOutput(options, source.format);
    await checkOutput(files, options.in, options.force ?? false);
    const secrets = await loadSecrets(plan, flow, terminal.redactor);
    return await runOver(plan, source, { flow, options, files, secrets, terminal });
  } finally {
    await source.close();
  }
}

interface RunParts {
  readonly flow: string;
  readonly options: RunOptions;
  readonly files: OutputPlan;
  readonly secrets: ReadonlyMap<string, string>;
  readonly terminal: Terminal;
}

async function runOver(plan: Plan, source: Source, parts: RunParts): Promise<number> {
  const { options, files, terminal } = parts;
  const tally = createTally();
  const events = await openEvents(options.events, terminal.redactor);
  const ports = wire({
    secrets: parts.secrets,
    redactor: terminal.redactor,
    allowHttp: options.allowHttp ?? false,
    cacert: options.cacert,
    maxCredits: options.maxCredits,
    report(event) {
      addToTally(tally, event);
      events?.add(event);
    },
  });
  const columns = source.columns ?? [];
  const output = await openOutput(
    files,
    { input: columns, output: plan.columns(columns) },
    { redactor: terminal.redactor, csvSafe: false },
  );
  ports.report({ type: 'run-started', flow: plan.name, input: options.in, output: files.out, errors: files.errors });
  const run = startRun(plan, chosen(source, options), output, ports, {
    unordered: options.unordered ?? false,
    maxErrors: options.maxErrors,
    concurrency: options.concurrency,
    intervalMs: options.rate,
  });
  const show = await showProgress(tally, source, ports, parts);
  const signals = watchSignals(run.stopping, ports.clock, terminal);
  try {
    const ending = await endOf(run, output);
    show?.stop();
    return await conclude(ending, signals.received(), tally, ports.credits(), parts);
  } finally {
    show?.stop();
    signals.stop();
    await events?.close();
  }
}

/** Whatever happens, what was finished is written. */
async function endOf(run: Run, output: FileOutput): Promise<Ending> {
  try {
    return await run.ended;
  } finally {
    await output.close();
  }
}

async function conclude(
  ending: Ending,
  signal: NodeJS.Signals | undefined,
  tally: Tally,
  credits: number,
  parts: RunParts,
): Promise<number> {
  const { flow, options, files, terminal } = parts;
  const exitCode = signal === undefined ? exitCodeOfRun(ending, tally.failed) : signalExitCode(signal);
  const facts: SummaryFacts = {
    flow,
    input: options.in === '-' ? 'stdin' : options.in,
    output: files.out === '-' ? 'stdout' : files.out,
    errors: files.errors,
    credits,
    exitCode,
    next: nextSteps(ending, tally, flow, options, files),
  };
  if (!options.quiet) terminal.tell(summaryText(tally, facts, terminal.colors));
  if (options.summary !== undefined) await writeSummary(options.summary, terminal.redactor.text(summaryJson(tally, facts)));
  return exitCode;
}

/** The records that were asked for. */
async function* chosen(source: Source, { skip = 0, limit }: RunOptions): AsyncGenerator<readonly Item[]> {
  const last = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  if (last <= skip) return;
  for await (const items of source.batches()) {
    const wanted = items.filter(({ number }) => number > skip && number <= last);
    if (wanted.length > 0) yield wanted;
    if ((items.at(-1)?.number ?? 0) >= last) return;
  }
}

async function showProgress(
  tally: Tally,
  source: Source,
  ports: WiredPorts,
  { options, files, terminal }: RunParts,
): Promise<ProgressShow | undefined> {
  if (options.quiet) return undefined;
  const line = createProgressLine(tally, {
    share: () => (source.totalBytes === undefined ? undefined : source.readBytes() / Math.max(1, source.totalBytes)),
    credits: ports.credits,
    now: ports.clock.now,
  });
  // Records on the same screen and a spinner would write over each other.
  const isLive = terminal.isLive && !(files.out === '-' && process.stdout.isTTY);
  return isLive ? showSpinner(line) : showLines(line, terminal.tell);
}
