import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attempt } from '../core/action.ts';
import type { Event } from '../core/event.ts';
import { Failure, usageError } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { Clock } from '../core/ports.ts';
import { type FlowSecrets, loadSecrets, noSecrets } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import { createRedactor } from '../credentials/redact.ts';
import { pricesOf } from '../credits/prices.ts';
import type { Gates } from '../engine/gates.ts';
import { type Closing, type StopReason, Wakeup } from '../engine/phase.ts';
import { type Run, startRun } from '../engine/run.ts';
import type { KeptAnswers } from '../http/answers/kept-answers.ts';
import { Routes } from '../http/routes.ts';
import { maxHeld, SpillFiles } from '../output/spill.ts';
import { createWriter } from '../records/formats.ts';
import { readDataFiles } from '../run/flow-file.ts';
import { certifiedRoutes } from '../run/session.ts';
import { wire } from '../run/wire.ts';
import { type Manifest, planOf } from './manifest.ts';
import type { UnitItem } from './processes/wire-form.ts';
import type { RunLink } from './run-link.ts';
import { WorkerLedger, workerSpending } from './worker-ledger.ts';
import { WorkerOutput } from './worker-output.ts';

export interface WorkerRunParts {
  readonly link: RunLink;
  readonly clock: Clock;
  readonly gates: Gates;
  /** Called with the reason if the worker must leave the run, because no server responds to it. */
  unanswered(reason: StopReason): void;
  /**
   * Called with the reason if the worker must leave the run, because its first records all failed in the same way on this machine.
   * Undefined for a worker on the same machine as the run.
   */
  readonly failedAlike?: (reason: StopReason) => void;
  /** Returns false while no record is allowed to start. Undefined if records can always start. */
  readonly mayBegin?: () => boolean;
  event?(event: Event): void;
}

export interface PreparedRun {
  readonly manifest: Manifest;
  readonly plan: Plan;
  readonly credentials: FlowSecrets;
  readonly messages: Messages;
  release(): void;
}

interface Preparing {
  warn(message: string): void;
  /** Returns the reason why this worker does not run a flow; undefined if it does. Undefined for a worker that runs every flow. */
  readonly needOf?: (plan: Plan) => string | undefined;
}

/** Throws an AutomateError (`usage`) if the worker does not run the flow, and a FlowError (`credential`) if a secret is missing. */
export async function prepareRun(manifest: Manifest, { warn, needOf }: Preparing): Promise<PreparedRun> {
  const redactor = createRedactor();
  const messages: Messages = { redactor, say: () => undefined, warn: (message) => warn(redactor.text(message)) };
  const plan = await planOf(manifest);
  const need = needOf?.(plan);
  if (need !== undefined) throw usageError(need);
  const release = await readDataFiles(plan);
  const { flow, env } = manifest;
  try {
    const credentials = manifest.answers?.isReplay ? noSecrets : await loadSecrets(plan, flow.file, { env }, messages);
    return { manifest, plan, credentials, messages, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** One worker's part of a run. Sends records through the nodes, and reports their results to the run. */
export class WorkerRun {
  readonly #parts: WorkerRunParts;
  /** Resolves when the results of all started records have been reported, and everything is closed. */
  readonly ended: Promise<void>;
  readonly #input = new WorkerInput();
  #run: Run | undefined;
  #closing: Closing | undefined;
  /** Number of records that this worker has received, in all units (groups of records). */
  #added = 0;
  #ledger: WorkerLedger | undefined;
  /** True if this worker is leaving the run, while the run continues in other workers. */
  #isLeaving = false;

  constructor(prepared: PreparedRun, parts: WorkerRunParts) {
    this.#parts = parts;
    this.ended = this.#pass(prepared);
  }

  credits(): number {
    return this.#ledger?.spent() ?? 0;
  }

  add(items: readonly UnitItem[]): void {
    this.#added += items.length;
    this.#input.add(items);
  }

  end(): void {
    this.#input.end();
  }

  close(closing: Closing): void {
    this.#closing = closing;
    this.#run?.phase.advance(closing.phase, closing.reason);
  }

  /** Starts no further records. This part of the run ends when its open records have ended, and the run continues in other workers. */
  leave(reason: StopReason): void {
    this.#isLeaving = true;
    this.close({ phase: 'finishing', reason });
    this.end();
  }

  #giveUp(reason: StopReason): void {
    const { unanswered, failedAlike } = this.#parts;
    // On the machine of the run, a step that can only fail is a reason for the whole run, even if other servers respond.
    if (reason.step && !failedAlike) this.close({ phase: 'finishing', reason });
    else if (reason.ending === 'same-failure') failedAlike?.(reason);
    else unanswered(reason);
  }

  async #pass({ manifest, plan, credentials, messages, release }: PreparedRun): Promise<void> {
    const { link, clock, gates, failedAlike, mayBegin } = this.#parts;
    const { redactor, warn } = messages;
    const { env, cacert, files, flow, run, format, columns, csvSafe, hasTextCells, isLimited } = manifest;
    const how = { cacert, environment: process.env, warn };
    const routes = new Routes(how);
    const answers = await this.#openAnswers(manifest, messages);
    const certified = answers?.isReplay ? undefined : await certifiedRoutes(plan.certificates, credentials, how);
    const ledger = new WorkerLedger(link, pricesOf(plan, env), isLimited, clock);
    this.#ledger = ledger;
    const { allowHttp } = flow.options;
    const ports = wire({
      ...{ run, credentials, redactor, allowHttp, cacert, ledger, env, routes, certified, answers },
      files: { folder: undefined, ...files, names: link.saveNames },
      report: (event) => {
        this.#parts.event?.(event);
        if (isOfWorker(event)) link.add({ kind: 'event', event });
      },
      warn,
    });
    const output = new WorkerOutput(link, createWriter(format, columns, { csvSafe, hasTextCells }), redactor, {
      names: plan.names,
      spillFiles: new SpillFiles(spillPath),
      added: () => this.#added,
      failedAlike: manifest.keepsGoing ? undefined : failedAlike,
    });
    const parts = {
      input: this.#input.read(),
      output,
      ports: { ...ports, spending: workerSpending(link) },
      gates,
      trace: manifest.wantsAttempts ? (attempt: Attempt) => link.add({ kind: 'attempt', attempt: attemptForm(attempt) }) : undefined,
    };
    const worker = { giveUp: manifest.keepsGoing ? undefined : (reason: StopReason) => this.#giveUp(reason), mayBegin };
    const started = startRun(plan, parts, { unordered: true, keepGoing: true, worker });
    this.#run = started;
    started.phase.onPhase((phase) => {
      const { reason } = started.phase;
      // If there is no reason, an error has ended only this worker's part, and the run itself continues.
      if (!reason) this.end();
      else if (!this.#isLeaving) link.tell({ kind: 'closing', phase, reason });
    });
    if (this.#closing) this.close(this.#closing);
    try {
      await started.ended;
      await output.end();
    } finally {
      ledger.releaseUnused();
      await ports.close();
      await answers?.close(true);
      routes.destroy();
      certified?.destroy();
      release();
      await credentials.usesRecorded();
    }
    await link.flush();
  }

  async #openAnswers({ answers }: Manifest, { redactor, warn }: Messages): Promise<KeptAnswers | undefined> {
    if (!answers) return undefined;
    const { KeptAnswers } = await import('../http/answers/kept-answers.ts');
    return new KeptAnswers({ ...answers, isShared: true, redactor, wallNow: this.#parts.clock.wallNow, warn });
  }
}

/** The run creates all other events itself. */
function isOfWorker({ type }: Event): boolean {
  return !['record-done', 'record-failed', 'record-filtered', 'record-parked', 'stopping', 'run-ended'].includes(type);
}

/** Returns only the parts of an attempt that are sent to the run: those that reports and log lines show. */
function attemptForm({ record, node, request, ms, result, httpVersion }: Attempt): object {
  const { method, origin, path, kind, tool, connection } = request as unknown as Record<string, unknown>;
  const failure = result instanceof Failure ? { kind: result.kind, message: result.message } : undefined;
  return { record, node, request: { method, origin, path, kind, tool, connection }, ms, result: failure ?? result, httpVersion };
}

/** Throws an AutomateError (`output`) if this worker cannot write temporary files. */
export async function checkSpillFile(): Promise<void> {
  const text = new SpillFiles(spillPath).newText();
  try {
    await text.add('\0'.repeat(maxHeld + 1));
  } finally {
    text.drop();
  }
}

function spillPath(): string {
  return join(tmpdir(), `.automate.${randomUUID()}.part`);
}

class WorkerInput {
  readonly #waiting: (readonly UnitItem[])[] = [];
  readonly #more = new Wakeup();
  #hasEnded = false;

  add(items: readonly UnitItem[]): void {
    this.#waiting.push(items);
    this.#more.wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#more.wake();
  }

  /** Yields the records, one unit at a time. An empty list means that no record is available at the moment. */
  async *read(): AsyncGenerator<readonly UnitItem[]> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) yield next;
      else if (this.#hasEnded) return;
      else {
        yield [];
        if (this.#waiting.length === 0 && !this.#hasEnded) await this.#more.wait();
      }
    }
  }
}
