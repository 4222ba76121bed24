import { readFile, writeFile } from 'node:fs/promises';
import type { CodedMessage } from '../../core/error-code.ts';
import type { Event } from '../../core/event.ts';
import { AutomateError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { createMessages } from '../../credentials/messages.ts';
import type { Checkpoint } from '../../output/journal/journal.ts';
import { planOutput } from '../../output/output-plan.ts';
import { inputFormat, openFlowInput } from '../../records/inputs.ts';
import { liveViewOf } from '../../report/page-view.ts';
import { doneOf, workOf } from '../../report/reported-run.ts';
import { countsOf, type RunView } from '../../report/run-view.ts';
import { exitCodeOfRun } from '../../run/exit-codes.ts';
import { payingNow, type SharedParts } from '../../run/flow-runtime.ts';
import { type RunHandle, runFlow, type Stop } from '../../run/run.ts';
import type { OpenRun, RunRequest, RunSurroundings } from '../../run/run-request.ts';
import { failedRun, type RunResult } from '../../run/run-result.ts';
import { messageForClient } from '../advice.ts';
import { diskFullReason, type RunSpace } from './disk-space.ts';
import { storedPlan } from './paying.ts';
import type { RunEvents } from './run-events.ts';
import { type RunFolder, totalsAt } from './run-folder.ts';
import { noTotals, payerOf, type StoredRun, sumOfTotals, type Totals } from './stored-run.ts';
import { maxRecordBytes } from './upload.ts';

/** The result of one part of a run. A part lasts from the start or the resumption of the run until it ends or is stopped. */
export interface EndedPart {
  readonly ending: string | null;
  readonly exitCode: number;
  readonly reason: string | null;
  readonly isResumable: boolean;
  readonly counts: StoredRun['counts'] | undefined;
  readonly totals: Totals;
}

/** Time in ms that records in progress have to finish after a stop. */
const graceMs = 10_000;

/** A part of a run that has not ended. It lasts from the start or the resumption of the run. */
export class RunPart {
  readonly #stored: StoredRun;
  readonly #folder: RunFolder;
  readonly #shared: SharedParts;
  readonly #events: RunEvents;
  readonly #messages = createMessages();
  #run: OpenRun | undefined;
  #handle: RunHandle | undefined;
  #stop: Stop | undefined;
  #isAborted = false;
  /** True if it is known that worker processes run the nodes. */
  #hasWorkers = false;

  constructor(
    stored: StoredRun,
    folder: RunFolder,
    shared: SharedParts,
    events: RunEvents,
    readonly space: RunSpace,
  ) {
    this.#stored = stored;
    this.#folder = folder;
    this.#shared = shared;
    this.#events = events;
  }

  /** Processes the records until the run ends or is stopped. */
  async run(): Promise<EndedPart> {
    const result = await this.#result();
    const ended =
      result.error instanceof AutomateError && result.error.code === 'nothing-to-resume' ? this.#published() : this.#ended(result);
    // If the disk is full, only the data of the run's report on the web page is lost.
    const view = this.view();
    if (view) await writeFile(this.#folder.view, JSON.stringify(view)).catch(() => undefined);
    return ended;
  }

  /** Starts no more records. Aborts the records in progress after a grace period. */
  stop(message: string): void {
    this.#end({ ending: 'interrupted', message, patienceMs: graceMs });
  }

  /** Does the same as `stop`, because the disk space of all runs is used up. */
  stopFull(): void {
    this.#end({ ending: 'disk-full', message: diskFullReason, patienceMs: graceMs });
  }

  #end(stop: Stop): void {
    this.#stop ??= stop;
    this.#handle?.stop(this.#stop);
  }

  abort(): void {
    this.#isAborted = true;
    this.#handle?.abort();
  }

  counts(): StoredRun['counts'] {
    if (!this.#run) return this.#stored.counts;
    const { written, failed, filtered, waiting } = countsOf(this.#run);
    const read = doneOf({ written, failed, filtered });
    const { rows } = this.#run.output.saved();
    return { read, written, rows, failed, ...(filtered > 0 && { filtered }), waiting, retries: this.totals().retries };
  }

  /** The contents of the files. Undefined until the first record starts. */
  written(): Checkpoint | undefined {
    return this.#run?.output.saved();
  }

  /** The totals at the checkpoint from which this part continues, plus the totals of this part. */
  totals(): Totals {
    if (!this.#run) return this.#stored.totals;
    const { progress, session, claim } = this.#run;
    const { retries, failures, hits } = progress.tally;
    return sumOfTotals(totalsAt(claim.from), {
      retries,
      credits: session.ports.credits(),
      failures: [...failures.values()].map(({ node = null, class: kind, status = null, count, message }) => {
        return { node, class: kind, status, count, message: session.redactor.text(message) };
      }),
      mapped: [...hits.values()].flat(),
    });
  }

  /** Null if this process runs the nodes itself. */
  workers(): number | null {
    return this.#run?.progress.workers?.now ?? (this.#hasWorkers ? 0 : null);
  }

  /** Returns the finished share of the run and the current pauses; undefined until the first record starts. */
  figures(): { readonly share: number | null; readonly paused: readonly { gate: string; until: string }[] } | undefined {
    if (!this.#run) return undefined;
    const pause = this.#run.progress.pauses.current();
    const until = (leftMs: number) => new Date(Date.now() + leftMs).toISOString();
    return {
      share: workOf(this.#run).share()?.ofWhole ?? null,
      paused: pause ? [{ gate: pause.gate, until: until(pause.leftMs) }] : [],
    };
  }

  /** Undefined until the first record starts. */
  view(): RunView | undefined {
    return this.#run && liveViewOf(this.#run);
  }

  async #result(): Promise<RunResult> {
    try {
      const request = await this.#request();
      // If the space is used up already, the run ends before it sends anything.
      await this.space.take(0, 'output');
      const { metrics } = this.#shared;
      const handle = metrics ? metrics.run(request, this.#surroundings()) : runFlow(request, this.#surroundings());
      this.#handle = handle;
      if (this.#stop) handle.stop(this.#stop);
      if (this.#isAborted) handle.abort();
      return await handle.ended;
    } catch (error) {
      return failedRun(error, undefined);
    }
  }

  async #request(): Promise<RunRequest> {
    const { options: asked, inputFormat: format, format: outFormat, parts } = this.#stored;
    const { allowHttp, cacert, env, files, reserved, workers } = this.#shared;
    const folder = this.#folder;
    const { flow, summary, report } = folder;
    const plan = await storedPlan(this.#stored, folder, this.#shared);
    const places = workers?.optionsFor(plan) ?? {};
    this.#hasWorkers = Object.keys(places).length > 0;
    const options = {
      ...asked,
      ...places,
      in: folder.input(format),
      out: folder.output(outFormat),
      errors: folder.errors(format),
      summary,
      report,
      resume: parts > 1,
      allowHttp,
      cacert,
      env,
      files,
    };
    return {
      id: this.#stored.id,
      flow,
      plan,
      options,
      files: { ...planOutput(flow, options, inputFormat(options)), isOwn: true },
      reserved,
      open: (from) => openFlowInput(plan, flow, { ...options, maxRecordBytes }, from),
      notes: () => (this.#run ? this.totals() : noTotals),
    };
  }

  #surroundings(): RunSurroundings {
    const { gates, workers, routes } = this.#shared;
    return {
      messages: this.#messages,
      gates,
      workers: workers?.forRun(),
      routes,
      space: this.space,
      key: payingNow(payerOf(this.#stored) ?? undefined, this.#shared),
      event: (event) => this.#report(event),
      started: (run) => {
        this.#run = run;
      },
    };
  }

  #report(event: Event): void {
    if (event.type !== 'record-failed') return;
    const { record, node = null, class: kind, status = null, attempts } = event;
    this.#events.failed({ record, node, class: kind, status, message: this.#messages.redactor.text(messageForClient(event)), attempts });
  }

  #ended({ ending, exitCode, reason, error }: RunResult): EndedPart {
    const figures = { counts: this.#run && this.counts(), totals: this.totals() };
    if (error === undefined)
      return { ending, exitCode, reason: reason ? this.#shown(reason) : null, isResumable: ending !== 'complete', ...figures };
    if (!(error instanceof AutomateError)) this.#shared.say((error as Error).stack ?? String(error));
    return { ending: 'failed', exitCode, reason: this.reasonOf(error), isResumable: !isLasting(error), ...figures };
  }

  /** The result of a run that was complete when the server crashed. Its journal no longer exists, but its output and its summary do. */
  async #published(): Promise<EndedPart> {
    const { counts, totals: before } = this.#stored;
    const text = await readFile(this.#folder.summary, 'utf8').catch(() => '');
    // In the summary, the totals cover only the last part of the run, but the counts cover the whole run.
    const found = orUndefined(() => JSON.parse(text) as Totals & { readonly whole: Record<string, unknown>; output_records?: number });
    const { whole, output_records: rows, ...last } = found ?? { ...noTotals, whole: {} };
    const { credits: _, tokens: __, ...records } = whole;
    const failures = last.failures.map(({ node, class: kind, status, count, message }) => ({ node, class: kind, status, count, message }));
    const totals = sumOfTotals(before, { ...last, failures });
    const all = { ...counts, ...records, rows, retries: totals.retries, waiting: 0 };
    const exitCode = exitCodeOfRun('complete', all.failed);
    return { ending: 'complete', reason: null, exitCode, isResumable: false, counts: all, totals };
  }

  /** Leaves out the folders of the run and of the flows. */
  reasonOf(error: unknown): string {
    if (!(error instanceof AutomateError)) return "this is a bug; the server's log has the details";
    return this.#shown(error);
  }

  #shown(reason: CodedMessage): string {
    const message = messageForClient(reason).replaceAll(`${this.#folder.path}/`, '');
    const { flows } = this.#shared;
    return flows === undefined ? message : message.replaceAll(`${flows}/`, '');
  }
}

/** True for an error that would occur again if the run were resumed, because the input and the text of the flow stay the same. */
function isLasting(error: unknown): boolean {
  return error instanceof AutomateError && ['usage', 'flow', 'input'].includes(error.kind);
}
