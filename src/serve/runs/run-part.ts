import { readFile, writeFile } from 'node:fs/promises';
import { exitCodeOf, exitCodeOfRun } from '../../cli/exit.ts';
import { loadFlow } from '../../cli/flow/flow-file.ts';
import { hasTextCells, inputFormat, openInput } from '../../cli/input-options.ts';
import { liveViewOf } from '../../cli/report/run-view-of.ts';
import type { Follower, OpenRun, RunHost } from '../../cli/run/open-run.ts';
import { planOutput } from '../../cli/run/output/output-plan.ts';
import { type RunStart, runPlanned } from '../../cli/run/run.ts';
import type { RunOptions, RunRequest } from '../../cli/run/run-options.ts';
import { createQuietTerminal } from '../../cli/serve/quiet-terminal.ts';
import { shareDone } from '../../cli/show/run/reading.ts';
import { AutomateError } from '../../core/failure.ts';
import { orUndefined } from '../../core/or-undefined.ts';
import type { RunPhase, StopReason } from '../../engine/phase.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import type { RunView } from '../../ui/run/run-view.ts';
import type { Shared } from '../calls/flow-runtime.ts';
import { httpWords } from '../http/http-words.ts';
import { totalsAt } from './crashed-run.ts';
import type { RunEvents } from './run-events.ts';
import type { RunFolder } from './run-folder.ts';
import { noTotals, type StoredRun, sumOfTotals, type Totals } from './stored-run.ts';

/** The result of one part of a run: from its start or resumption to its end. */
export interface EndedPart {
  readonly ending: string | null;
  readonly exitCode: number;
  readonly reason: string | null;
  /** True if the run can be resumed. */
  readonly isResumable: boolean;
  readonly counts: StoredRun['counts'] | undefined;
  readonly totals: Totals;
}

/** Time for unfinished records after a stop. */
const graceMs = 10_000;

/** A part of a run under way: the same run that the command would make of these files. */
export class RunPart {
  readonly #stored: StoredRun;
  readonly #folder: RunFolder;
  readonly #shared: Shared;
  readonly #events: RunEvents;
  #run: OpenRun | undefined;
  #phase: RunPhase | undefined;
  #stop: StopReason | undefined;
  #isAborted = false;

  constructor(stored: StoredRun, folder: RunFolder, shared: Shared, events: RunEvents) {
    this.#stored = stored;
    this.#folder = folder;
    this.#shared = shared;
    this.#events = events;
  }

  /** Runs the records to their end. */
  async run(): Promise<EndedPart> {
    const ended = await this.#toEnd();
    await this.#saveView();
    return { ...ended, reason: ended.reason === null ? null : httpWords(ended.reason) };
  }

  async #toEnd(): Promise<EndedPart> {
    try {
      const exitCode = await this.#start();
      const ended = await this.#summary();
      return { ...ended, exitCode, isResumable: ended.ending !== 'complete' };
    } catch (error) {
      if (isPublished(error, this.#stored)) return this.#published();
      if (!(error instanceof AutomateError)) this.#shared.say((error as Error).stack ?? String(error));
      const failed = { ending: 'failed', exitCode: exitCodeOf(error), reason: this.reasonOf(error), isResumable: !isLasting(error) };
      return { ...(await this.#summary()), ...failed };
    }
  }

  /** Starts no more records, and gives up the records under way after a grace time. */
  stop(message: string): void {
    this.#stop = { ending: 'interrupted', message, patienceMs: graceMs };
    this.#phase?.advance('finishing', this.#stop);
    setTimeout(() => this.abort(), graceMs).unref();
  }

  /** Gives up the records under way. */
  abort(): void {
    this.#isAborted = true;
    this.#phase?.advance('stopped', this.#stop);
  }

  /** The counts so far, including earlier parts. */
  counts(): StoredRun['counts'] {
    if (!this.#run) return this.#stored.counts;
    const { tally, claim } = this.#run;
    const { written, failed } = claim.from;
    return {
      read: written + failed + tally.read,
      written: written + tally.written,
      failed: failed + tally.failed,
      retries: this.totals().retries,
      waiting: tally.parked,
    };
  }

  /** The totals of the whole run so far: the totals of its checkpoint and of this part. */
  totals(): Totals {
    if (!this.#run) return this.#stored.totals;
    const { tally, ports, claim } = this.#run;
    return sumOfTotals(totalsAt(claim.from), {
      retries: tally.retries,
      credits: ports.credits(),
      failures: [...tally.failures.values()].map(({ node = null, class: kind, status = null, count, message }) => ({
        ...{ node, class: kind, status, count, message },
      })),
      mapped: [...tally.hits.values()].flat().map((hit) => ({ ...hit })),
    });
  }

  /** The finished share and the pauses; absent before the first record. */
  figures(): { readonly share: number | null; readonly paused: readonly { gate: string; until: string }[] } | undefined {
    if (!this.#run) return undefined;
    const { source, reading, tally, claim, pauses } = this.#run;
    const recordsBefore = claim.from.written + claim.from.failed;
    const { limit } = this.#stored.options;
    const { totalBytes } = source;
    const facts = { totalBytes, readBytes: source.readBytes(), reading, doneRecords: tally.read, recordsBefore, limit };
    const pause = pauses.current();
    const until = (leftMs: number) => new Date(Date.now() + leftMs).toISOString();
    return {
      share: shareDone(facts)?.ofWhole ?? null,
      paused: pause ? [{ gate: pause.gate, until: until(pause.leftMs) }] : [],
    };
  }

  /** The figures for the page; absent before the first record. */
  view(): RunView | undefined {
    return this.#run && liveViewOf(this.#run);
  }

  /** Saves the figures at the end. With a full disk only these figures are lost. */
  async #saveView(): Promise<void> {
    const view = this.view();
    if (view) await writeFile(this.#folder.view, JSON.stringify(view)).catch(() => undefined);
  }

  async #start(): Promise<number> {
    const { flow } = this.#folder;
    const options = this.#options();
    const { allowHttp } = this.#shared;
    const plan = await loadFlow(flow, { allowHttp, textCells: hasTextCells(options), name: this.#stored.flow });
    const files = { ...planOutput(flow, options, inputFormat(options)), isOwn: true };
    const request: RunRequest = { flow, options, written: new Map() };
    const start: RunStart = { stop: () => undefined };
    const terminal = createQuietTerminal();
    try {
      return await runPlanned({ plan, request, files, open: (from) => openInput(options, from) }, start, terminal, this.#host());
    } finally {
      start.claim?.release();
    }
  }

  #options(): RunOptions {
    const { options, inputFormat: format, format: outFormat, parts } = this.#stored;
    const { allowHttp, cacert, env } = this.#shared;
    const folder = this.#folder;
    return {
      ...options,
      in: folder.input(format),
      out: folder.output(outFormat),
      errors: folder.errors(format),
      summary: folder.summary,
      report: folder.report,
      resume: parts > 1,
      quiet: true,
      allowHttp,
      ...(cacert !== undefined && { cacert }),
      ...(env !== undefined && { env }),
      input: true,
      set: [],
    };
  }

  #host(): RunHost {
    return {
      gates: this.#shared.gates,
      routes: this.#shared.routes,
      key: payingKey(this.#stored),
      notes: () => (this.#run ? this.#masked(this.totals()) : noTotals),
      report: (event) => {
        if (event.type !== 'record-failed') return;
        const { record, node = null, class: kind, status = null, message, attempts } = event;
        const { redactor } = (this.#run as OpenRun).terminal;
        this.#events.failed({ record, node, class: kind, status, message: redactor.text(message), attempts });
      },
      follow: async (run) => this.#follow(run),
    };
  }

  #follow(run: OpenRun): Follower {
    this.#run = run;
    return {
      started: ({ phase }) => {
        this.#phase = phase;
        if (this.#stop) phase.advance('finishing', this.#stop);
        if (this.#isAborted) phase.advance('stopped', this.#stop);
      },
      signal: () => undefined,
      recordsEnded: () => undefined,
      stop: () => undefined,
    };
  }

  async #summary(): Promise<Omit<EndedPart, 'exitCode' | 'isResumable'>> {
    const counts = this.#run && this.counts();
    const totals = this.#run ? this.#masked(this.totals()) : this.totals();
    const text = await readFile(this.#folder.summary, 'utf8').catch(() => '');
    const { ending = null, reason = null } = orUndefined(() => JSON.parse(text) as Partial<EndedPart>) ?? {};
    return { ending, reason, counts, totals };
  }

  /** The result of a run that was complete before a crash: its journal is gone, and its files are in their places. */
  async #published(): Promise<EndedPart> {
    const { counts, totals: before } = this.#stored;
    const text = await readFile(this.#folder.summary, 'utf8').catch(() => '');
    // The summary has the totals of the last part, and the counts of the whole run.
    const { whole, ...last } = orUndefined(() => JSON.parse(text) as Totals & { readonly whole: object }) ?? { ...noTotals, whole: {} };
    const failures = last.failures.map(({ node, class: kind, status, count, message }) => ({ node, class: kind, status, count, message }));
    const totals = sumOfTotals(before, { ...last, failures });
    const found = { ...counts, ...whole, retries: totals.retries, waiting: 0 };
    return {
      ending: 'complete',
      reason: null,
      exitCode: exitCodeOfRun('complete', found.failed),
      isResumable: false,
      counts: found,
      totals,
    };
  }

  #masked(totals: Totals): Totals {
    const redactor = (this.#run as OpenRun).terminal.redactor;
    return { ...totals, failures: totals.failures.map((group) => ({ ...group, message: redactor.text(group.message) })) };
  }

  /** The reason without the run's paths, and without the command that would resume it: a client resumes it by its address. */
  reasonOf(error: unknown): string {
    if (!(error instanceof AutomateError)) return 'this is a bug; the log of the server says more';
    return error.message.replaceAll(`${this.#folder.path}/`, '').replace(/\n[^\n]* resume with:\n.*$/s, '');
  }
}

/** True for an error that a resumed run would meet again: the input and the text of the flow stay the same. */
function isLasting(error: unknown): boolean {
  return error instanceof AutomateError && ['usage', 'flow', 'input'].includes(error.kind);
}

/** True for the error of a resumed run that has nothing left to do. */
function isPublished(error: unknown, { parts }: StoredRun): boolean {
  return parts > 1 && error instanceof AutomateError && error.kind === 'output-exists' && error.message.includes('nothing to resume');
}

/** The key that pays for a run; absent for the page. */
function payingKey({ key }: StoredRun): PayingKey | undefined {
  return key ? { quota: undefined, ...key } : undefined;
}
