import { readFile, writeFile } from 'node:fs/promises';
import { exitCodeOfRun } from '../../app/exit-codes.ts';
import { payingNow, type SharedParts } from '../../app/flow-runtime.ts';
import { inputFormat, openInput } from '../../app/input/input.ts';
import { createMessages } from '../../app/messages.ts';
import { planOutput } from '../../app/output/output-plan.ts';
import { countsOf, totalsOf, workOf } from '../../app/report/run-figures.ts';
import { liveViewOf } from '../../app/report/run-view-of.ts';
import { type RunHandle, runFlow, type Stop } from '../../app/run.ts';
import type { OpenRun, RunRequest, RunSurroundings } from '../../app/run-request.ts';
import { failedRun, type RunResult } from '../../app/run-result.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import type { Event } from '../../core/event.ts';
import { AutomateError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import type { RunView } from '../../ui/run/run-view.ts';
import { messageForClient } from '../http/advice.ts';
import { payingKey, storedPlan } from './paying.ts';
import type { RunEvents } from './run-events.ts';
import { type RunFolder, totalsAt } from './run-folder.ts';
import { noTotals, payerOf, type StoredRun, sumOfTotals, type Totals } from './stored-run.ts';
import { maxRecordBytes } from './upload.ts';

/** The result of one part of a run: from its start or resumption to its end. */
export interface EndedPart {
  readonly ending: string | null;
  readonly exitCode: number;
  readonly reason: string | null;
  /** True if it can continue later. */
  readonly isResumable: boolean;
  readonly counts: StoredRun['counts'] | undefined;
  readonly totals: Totals;
}

/** Time for unfinished records after a stop. */
const graceMs = 10_000;

/** A part of a run under way. */
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

  constructor(stored: StoredRun, folder: RunFolder, shared: SharedParts, events: RunEvents) {
    this.#stored = stored;
    this.#folder = folder;
    this.#shared = shared;
    this.#events = events;
  }

  /** Runs the records to their end. */
  async run(): Promise<EndedPart> {
    const result = await this.#result();
    const ended =
      result.error instanceof AutomateError && result.error.code === 'nothing-to-resume' ? this.#published() : this.#ended(result);
    // A full disk loses the figures of the end, and nothing else.
    const view = this.view();
    if (view) await writeFile(this.#folder.view, JSON.stringify(view)).catch(() => undefined);
    return ended;
  }

  /** Starts no more records, and gives up the records under way after a grace time. */
  stop(message: string): void {
    this.#stop = { ending: 'interrupted', message, patienceMs: graceMs };
    this.#handle?.stop(this.#stop);
  }

  /** Gives up the records under way. */
  abort(): void {
    this.#isAborted = true;
    this.#handle?.abort();
  }

  /** The counts so far, including earlier parts. */
  counts(): StoredRun['counts'] {
    if (!this.#run) return this.#stored.counts;
    return { ...countsOf(this.#run), retries: this.totals().retries };
  }

  /** The totals of the whole run so far: of the checkpoint at which this part began, and since then. */
  totals(): Totals {
    if (!this.#run) return this.#stored.totals;
    const { failures, mapped, ...sums } = totalsOf(this.#run);
    return sumOfTotals(totalsAt(this.#run.claim.from), { ...sums, failures: [...failures], mapped: [...mapped] });
  }

  /** The finished share and the pauses; undefined before the first record. */
  figures(): { readonly share: number | null; readonly paused: readonly { gate: string; until: string }[] } | undefined {
    if (!this.#run) return undefined;
    const pause = this.#run.progress.pauses.current();
    const until = (leftMs: number) => new Date(Date.now() + leftMs).toISOString();
    return {
      share: workOf(this.#run).share()?.ofWhole ?? null,
      paused: pause ? [{ gate: pause.gate, until: until(pause.leftMs) }] : [],
    };
  }

  /** The figures for the page; undefined before the first record. */
  view(): RunView | undefined {
    return this.#run && liveViewOf(this.#run);
  }

  async #result(): Promise<RunResult> {
    try {
      const handle = runFlow(await this.#request(), this.#surroundings());
      this.#handle = handle;
      if (this.#stop) handle.stop(this.#stop);
      if (this.#isAborted) handle.abort();
      return await handle.ended;
    } catch (error) {
      return failedRun(error, undefined);
    }
  }

  /** The run of the stored files. */
  async #request(): Promise<RunRequest> {
    const { options: asked, inputFormat: format, format: outFormat, parts } = this.#stored;
    const { allowHttp, cacert, env, files } = this.#shared;
    const folder = this.#folder;
    const { flow, summary, report } = folder;
    const options = {
      ...asked,
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
    const plan = await storedPlan(this.#stored, folder, this.#shared);
    return {
      flow,
      plan,
      options,
      files: { ...planOutput(flow, options, inputFormat(options)), isOwn: true },
      open: (from) => openInput({ ...options, maxRecordBytes }, from),
      notes: () => (this.#run ? this.totals() : noTotals),
    };
  }

  #surroundings(): RunSurroundings {
    const { gates, routes } = this.#shared;
    return {
      messages: this.#messages,
      gates,
      routes,
      key: payingNow(payingKey(payerOf(this.#stored)), this.#shared),
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

  /** The result of a run that was complete before a crash: its journal is gone, and its files are in their places, its summary among them. */
  async #published(): Promise<EndedPart> {
    const { counts, totals: before } = this.#stored;
    const text = await readFile(this.#folder.summary, 'utf8').catch(() => '');
    // The summary has the totals of the last part, and the counts of the whole run.
    const found = orUndefined(() => JSON.parse(text) as Totals & { readonly whole: Record<string, unknown> });
    const { whole, ...last } = found ?? { ...noTotals, whole: {} };
    const { credits: _, tokens: __, ...records } = whole;
    const failures = last.failures.map(({ node, class: kind, status, count, message }) => ({ node, class: kind, status, count, message }));
    const totals = sumOfTotals(before, { ...last, failures });
    const all = { ...counts, ...records, retries: totals.retries, waiting: 0 };
    const exitCode = exitCodeOfRun('complete', all.failed);
    return { ending: 'complete', reason: null, exitCode, isResumable: false, counts: all, totals };
  }

  /** The reason without the run's paths. */
  reasonOf(error: unknown): string {
    if (!(error instanceof AutomateError)) return 'this is a bug; the log of the server says more';
    return this.#shown(error);
  }

  #shown(reason: CodedMessage): string {
    return messageForClient(reason).replaceAll(`${this.#folder.path}/`, '');
  }
}

/** True for an error that a resumed run would meet again: the input and the text of the flow stay the same. */
function isLasting(error: unknown): boolean {
  return error instanceof AutomateError && ['usage', 'flow', 'input'].includes(error.kind);
}
