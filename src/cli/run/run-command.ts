import { AutomateError, usageError } from '../../core/failure.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { loadSecrets } from '../../credentials/flow-secrets.ts';
import { statesPrice } from '../../credits/prices.ts';
import { statOf } from '../../files/stat.ts';
import { authorities } from '../../http/authorities.ts';
import { refuseOutput } from '../../output/output-claim.ts';
import { answersPath, canResume, type OutputPlan, planOutput } from '../../output/output-plan.ts';
import { selectRecords } from '../../output/selected-records.ts';
import type { CompleteRun } from '../../output/truth-file.ts';
import { findGone, lookForOld } from '../../output/update/claimed-memory.ts';
import { inputFormat, openFlowInput, refuseWithoutFolder, tellingNotes } from '../../records/inputs.ts';
import type { RecordSource } from '../../records/source.ts';
import { givenNamesText } from '../../report/early-warnings.ts';
import type { RunView } from '../../report/run-view.ts';
import { exitCodeOf, exitCodes, signalExitCode } from '../../run/exit-codes.ts';
import { checkFields, readDataFiles } from '../../run/flow-file.ts';
import { type RunHandle, runFlow } from '../../run/run.ts';
import type { RunRequest, RunSurroundings } from '../../run/run-request.ts';
import type { RunResult } from '../../run/run-result.ts';
import { refuseWorkers } from '../../workers/manifest.ts';
import { WorkersOfRun } from '../../workers/workers-of-run.ts';
import { openMetrics } from '../metrics.ts';
import { printWarnings } from '../show/problems.ts';
import { sayNote, type Terminal } from '../terminal.ts';
import { dryRun } from './dry-run.ts';
import { alreadyCompleteText, messageInRun, wordsOf } from './next-steps.ts';
import type { PartOfRun, RunWatcher, ShowRun } from './pilot.ts';
import { planRun } from './plan-run.ts';
import { atOnceText, attemptText, eventText, type ProgressShow, showProgress, waitText } from './progress.ts';
import type { NoticeOptions, Notices } from './run-notices.ts';
import { type GivenRun, type GivenRunOptions, refuse, refuseAnswers, refuseWorkerConflicts, type WrittenRun } from './run-options.ts';
import { quietText, summaryText } from './summary.ts';

export async function runCommand(given: WrittenRun<GivenRunOptions>, terminal: Terminal): Promise<number> {
  return withSignals(given.flow, given.options, terminal, async (start) => {
    const pilot = given.options.pilot === undefined ? undefined : await import('./pilot.ts');
    pilot?.refusePilot(given.options);
    const { plan, written } = updating(await planRun(given, terminal));
    const { flow, options, isFree } = written;
    if (options.dryRun) return dryRunCommand(plan, written, terminal);
    const files = planOutput(flow, options, inputFormat(options));
    refuseConflicts(options, files);
    pilot?.refusePilotOf(plan, options, files);
    warnOfWorkbook(plan, options, files, terminal);
    return start({ flow, plan, options, files, isFree, open: (from) => openFlowInput(plan, flow, options, from) }, written);
  });
}

type StartRun = (request: RunRequest, written: WrittenRun) => Promise<number>;

/**
 * Until the run sends requests, a signal ends the process. After that, a signal stops the run. At the end, notices are sent. `label` is the
 * flow or, in a retry, the output.
 */
export async function withSignals(
  label: string,
  options: NoticeOptions & { readonly dryRun?: boolean },
  terminal: Terminal,
  act: (start: StartRun) => Promise<number>,
): Promise<number> {
  const startedMs = performance.now();
  const notices = options.dryRun ? undefined : await openNotices(options, terminal);
  let view: RunView | undefined;
  const tell = async (exitCode: number) => notices?.send({ label, exitCode, ms: performance.now() - startedMs, view });
  const signals = stopOnSignals(terminal, notices && tell);
  try {
    const exitCode = await act((request, written) => {
      refuseWorkerConflicts(written.options);
      refuseAnswers(request.plan, written.options, request.files);
      refuseWithoutAnswers(request.plan, written.options, request.files);
      return showRun(request, written, terminal, {
        follow: signals.follow,
        asking: signals.asking,
        ended(result) {
          view = result.view ?? result.brokenView;
        },
      });
    });
    await tell(exitCode);
    return exitCode;
  } catch (error) {
    await tell(exitCodeOf(error));
    throw error;
  } finally {
    signals.stop();
  }
}

/** Undefined if nobody is told. */
async function openNotices(options: NoticeOptions, terminal: Terminal): Promise<Notices | undefined> {
  if (options.notify === undefined && !process.env.AUTOMATE_NOTIFY) return undefined;
  return (await import('./run-notices.ts')).Notices.open(options, terminal);
}

async function showRun(request: RunRequest, written: WrittenRun, terminal: Terminal, watcher: RunWatcher): Promise<number> {
  const show: ShowRun = (one, part = {}) => showOne(one, written, terminal, watcher, part);
  if (request.options.pilot === undefined) return show(request);
  return (await import('./pilot.ts')).runPilot(request, terminal, watcher, show);
}

async function showOne(
  request: RunRequest,
  written: WrittenRun,
  terminal: Terminal,
  watcher: RunWatcher,
  part: PartOfRun,
): Promise<number> {
  const follower = new Follower(written, terminal);
  const metrics = await openMetrics(written.options, terminal);
  try {
    const worded = { ...request, words: wordsOf(written) };
    const surroundings = follower.surroundings(request, part);
    const run = metrics ? metrics.run(worded, surroundings) : runFlow(worded, surroundings);
    watcher.follow(run);
    const result = await run.ended;
    watcher.ended(result);
    return await follower.conclude(result, request);
  } finally {
    follower.stop();
    await metrics?.close();
  }
}

class Follower {
  readonly #written: WrittenRun;
  readonly #terminal: Terminal;
  #progress: ProgressShow | undefined;
  #summary: ((result: RunResult) => string) | undefined;

  constructor(written: WrittenRun, terminal: Terminal) {
    this.#written = written;
    this.#terminal = terminal;
  }

  surroundings({ plan, flow, options }: RunRequest, { findings, isLater = false }: PartOfRun): RunSurroundings {
    const { quiet = false, verbose = false } = this.#written.options;
    const isTold = quiet || isLater;
    const terminal = this.#terminal;
    const { say } = terminal;
    return {
      messages: terminal,
      workers: new WorkersOfRun(),
      ...(quiet && { warn: () => undefined }),
      noted: isTold ? undefined : sayNote(terminal),
      checked: (columns) => isTold || printWarnings(plan, flow, terminal, columns),
      attempt:
        verbose || findings
          ? (attempt) => {
              findings?.attempt(attempt);
              if (verbose) say(attemptText(attempt));
            }
          : undefined,
      event(event) {
        findings?.event(event);
        const line = verbose ? eventText(event) : undefined;
        if (line !== undefined) say(line);
      },
      started: async (run, waiting) => {
        const atOnce = (options.workers ?? options.queue) === undefined || quiet ? undefined : atOnceText(plan);
        if (atOnce !== undefined) say(atOnce);
        const text = quiet ? quietText : summaryText;
        this.#summary = ({ view }) => (view ? text(view, terminal.colors) : '');
        if (!quiet) this.#progress = await showProgress(run, waiting, terminal);
        terminal.progress = this.#progress;
      },
      waitingForWorkers: (wait) => quiet || say(waitText(wait)),
      recordsEnded: () => this.stop(),
    };
  }

  /** Prints the summary and returns the exit code. Throws if an error ended the run. */
  async conclude(result: RunResult, request: RunRequest): Promise<number> {
    this.stop();
    const { exitCode, error, earlier } = result;
    // The findings of a pilot are printed before it asks.
    const isShown = result.ending === 'pilot' && error === undefined;
    const text = earlier ? this.#alreadyComplete(earlier, request) : isShown ? '' : (this.#summary?.(result) ?? '');
    if (text !== '') this.#terminal.say(text);
    if (error === undefined) return exitCode;
    if (!(error instanceof AutomateError) || (error.code !== 'input-broken' && error.code !== 'output-broken')) throw error;
    throw new AutomateError(error.kind, messageInRun(error, this.#written), { cause: error });
  }

  /** With --quiet, the text is empty unless records failed. */
  #alreadyComplete({ counts }: CompleteRun, { files }: RunRequest): string {
    if (this.#written.options.quiet && counts.failed === 0) return '';
    return alreadyCompleteText(this.#written, files, counts);
  }

  stop(): void {
    this.#progress?.stop();
  }
}

async function dryRunCommand(plan: Plan, written: WrittenRun, terminal: Terminal): Promise<number> {
  const { flow, options } = written;
  if (options.resume) throw usageError('--dry-run plans a run from its beginning: leave --resume out');
  if (options.report !== undefined) throw usageError('--dry-run has no report: leave --report out');
  refuseWorkerConflicts(options);
  refuseWorkers(plan, options);
  const source = await openFlowInput(plan, flow, options);
  let release: (() => void) | undefined;
  try {
    checkInput(plan, source, written, terminal);
    refuseWithoutFolder(plan, options);
    release = await readDataFiles(plan);
    const files = planOutput(flow, options, source.format);
    const { format } = files;
    if (options.update) refuseConflicts(options, files);
    const ofRun = { plan, options, files, source, redactor: terminal.redactor };
    const [looked] = await Promise.allSettled([options.update ? lookForOld(ofRun) : undefined]);
    const gone = looked.status === 'fulfilled' ? await findGone(plan, options, files) : undefined;
    const memory = looked.status === 'fulfilled' ? looked.value : undefined;
    const noted = options.quiet ? () => undefined : sayNote(terminal);
    source.notes.forEach(noted);
    const told = tellingNotes(source, noted);
    const records = selectRecords(gone?.watch(told) ?? told, {
      options,
      plan,
      format,
      takeOver: memory && ((item) => memory.takeOver(item)),
    });
    await dryRun({ flow, plan, options, records, gone, out: files.isStreamed ? '-' : files.out }, terminal);
    memory?.close();
    await gone?.refuseTooMany();
    gone?.close();
    // If the old rows cannot be reused, the plan is that of a run which runs every record, as the error advises.
    if (looked.status === 'rejected') throw looked.reason;
    // If options exclude each other, --dry-run fails as the run would, but only after it has printed the plan.
    if (!options.update) refuseConflicts(options, files);
    refuseAnswers(plan, options, files);
    refuseWithoutAnswers(plan, options, files);
    warnOfWorkbook(plan, options, files, terminal);
    await refuseOutput({ file: flow, plan }, options, files);
    authorities(options.cacert, process.env);
    // In a run with a queue, only the workers need the secrets.
    if (options.queue === undefined && !options.replay) await loadSecrets(plan, flow, options, terminal);
    return exitCodes.success;
  } finally {
    release?.();
    await source.close();
  }
}

/** Without the file, every record would fail, and the file would be created. */
function refuseWithoutAnswers({ steps }: Plan, { replay }: GivenRun, { out }: OutputPlan): void {
  const path = answersPath(out);
  const asks = allSteps(steps).some(({ node: { action } }) => action && !action.lookup?.isLocal);
  if (!replay || statOf(path) || !asks) return;
  const advice = 'run the flow once with --keep-answers, or give the output of such a run with --out';
  throw usageError(`--replay sends nothing, and no answers are kept: there is no ${path}\n${advice}`);
}

/** Sets what --update implies. The old files are replaced at the end. With --replace, every record is run and no rows are reused. */
function updating({ plan, written }: { readonly plan: Plan; readonly written: WrittenRun }): { plan: Plan; written: WrittenRun } {
  const { options } = written;
  if (!options.update) return { plan, written };
  return { plan, written: { ...written, options: { ...options, replace: true, ...(options.replace && { runsAll: true }) } } };
}

function refuseUpdate(options: GivenRun, files: OutputPlan): void {
  const { update, maxAge, noInput, unordered, limit, skip, force } = options;
  refuseGone(options);
  if (!update) {
    if (maxAge !== undefined) refuse('--max-age works only with --update: add --update, or leave --max-age out');
    return;
  }
  if (noInput && maxAge === undefined)
    refuse(
      '--update with --no-input would never send anything again: its one record has no fields that could change\nsay how old its rows may become, such as --max-age 1d, or leave --update out',
    );
  if (files.isStreamed) refuse('--update needs an output file, because it reuses its rows\ngive one with --out');
  if (!canResume(files))
    refuse(
      `--update needs an output to which rows can be added: the workbook ${files.out} is written all at once\nwrite CSV: --out FILE.csv`,
    );
  if (unordered) refuse('--update writes the records in their order: leave --unordered out');
  if (limit !== undefined || skip !== undefined) refuse('--update needs all records of the input: leave --limit and --skip out');
  if (force) refuse('--update keeps the old output until the end, --force deletes it now: use only one of them');
}

function refuseGone({ update, gone, goneKey, maxGone, noInput }: GivenRun): void {
  for (const [option, value] of Object.entries({ '--gone-key': goneKey, '--max-gone': maxGone }))
    if (gone === undefined && value !== undefined) refuse(`${option} works only with --gone: add --gone FILE, or leave ${option} out`);
  if (gone === undefined) return;
  if (!update) refuse('--gone works only with --update: add --update, or leave --gone out');
  if (goneKey === undefined)
    refuse(
      '--gone needs the column by which a record is recognized\ngive it with --gone-key, such as --gone-key id, or several with commas',
    );
  if (noInput) refuse('--gone compares the records of an input, and --no-input has none: leave --gone out');
}

/** Throws if options exclude each other, or if the output is a stream that does not support them. */
function refuseConflicts(options: GivenRun, files: OutputPlan): void {
  refuseUpdate(options, files);
  const { resume, replace, force } = options;
  if (resume && !files.isStreamed && !canResume(files))
    refuse(
      `--resume needs an output to which rows can be added: the workbook ${files.out} is written all at once, at the end of a run\nfor a long run write CSV: --out FILE.csv`,
    );
  if (resume && files.isStreamed) refuse('--resume needs an output file, because a stream cannot be resumed\ngive one with --out');
  if (resume && force) refuse('--resume continues an output, --force overwrites it: use only one of them');
  if (replace && force) refuse('--replace keeps the old output until the end, --force deletes it now: use only one of them');
}

/** Warns before the run spends anything. An Excel workbook is written only at the end, so its rows are lost if the process is killed. */
function warnOfWorkbook(plan: Plan, { quiet }: GivenRun, files: OutputPlan, { warn }: Terminal): void {
  if (quiet || files.isStreamed || canResume(files) || !statesPrice(plan)) return;
  warn(`${files.out} is written all at once, when the run ends: if the process is killed, its rows are lost; for a long run write CSV`);
}

function checkInput(
  plan: Plan,
  { header, firstFields, givenNames }: RecordSource,
  { flow, options }: WrittenRun,
  terminal: Terminal,
): void {
  if (header || options.noInput) checkFields(plan, flow, header ?? []);
  if (options.quiet) return;
  printWarnings(plan, flow, terminal, firstFields);
  const unnamed = givenNamesText(givenNames);
  if (unnamed !== undefined) terminal.warn(unnamed);
}

const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** After the first signal, records in progress have this time to finish. */
const graceMs = 10_000;

/** A second signal is ignored for this time. One Ctrl-C can arrive twice, from the terminal and from a parent process. */
const echoMs = 200;

interface Signals {
  /** Makes the next signal stop this run instead of ending the process. */
  follow(run: RunHandle): void;
  asking(isAsking: boolean): void;
  stop(): void;
}

/**
 * Starts handling signals. Before a run has started records, the first signal ends the process. After that, the first signal lets the
 * records in progress finish, but no more are started. A second signal, or the end of `graceMs`, aborts the records in progress.
 */
function stopOnSignals({ say }: Terminal, tell?: (exitCode: number) => Promise<unknown>): Signals {
  let run: RunHandle | undefined;
  let firstAtMs: number | undefined;
  let isAsking = false;
  const listener = (signal: NodeJS.Signals) => {
    if (firstAtMs !== undefined) {
      if (performance.now() - firstAtMs >= echoMs) run?.abort();
      return;
    }
    if (!run?.hasStarted || isAsking) {
      say(
        `${isAsking ? '\n' : ''}automate: ${signal}: ${isAsking ? 'what the pilot has done is kept for --resume' : 'no record was started'}`,
      );
      run?.release();
      const exit = () => process.exit(signalExitCode(signal));
      if (!tell || firstAtMs !== undefined) exit();
      firstAtMs = performance.now();
      void tell?.(signalExitCode(signal)).finally(exit);
      return;
    }
    firstAtMs = performance.now();
    say(`automate: ${signal}: finishing the records already started, for at most ${graceMs / 1000} s; repeat to stop at once`);
    const exitCode = signalExitCode(signal);
    run.stop({ ending: 'interrupted', message: `received ${signal}`, patienceMs: graceMs, exitCode });
  };
  for (const signal of signals) process.on(signal, listener);
  return {
    follow(started) {
      run = started;
    },
    asking(now) {
      isAsking = now;
    },
    stop() {
      for (const signal of signals) process.off(signal, listener);
    },
  };
}
