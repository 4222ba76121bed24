import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attempt } from '../../core/action.ts';
import type { Event } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import type { Clock } from '../../core/ports.ts';
import type { Closing, StopReason } from '../../core/workers/closing.ts';
import type { Gates } from '../../engine/gates.ts';
import { type Run, startRun } from '../../engine/run.ts';
import { Routes } from '../../io/http/routes.ts';
import { SpillFiles } from '../../io/output/spill.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import { createRedactor } from '../../io/secrets/redact.ts';
import type { RunReports } from '../../io/workers/run-reports.ts';
import type { UnitItem } from '../../io/workers/wire-form.ts';
import { readDataFiles } from '../flow/flow-file.ts';
import { type FlowSecrets, loadSecrets } from '../flow/flow-secrets.ts';
import type { Messages } from '../messages.ts';
import { pricesOf } from '../ports/run-ledger.ts';
import { wire } from '../ports/wire.ts';
import { certifiedRoutes } from '../session.ts';
import { type Manifest, planOf } from './manifest.ts';
import { WorkerInput } from './worker-input.ts';
import { WorkerLedger, workerSpending } from './worker-ledger.ts';
import { WorkerOutput } from './worker-output.ts';

/** The parts of a worker process that its runs share, and the link to one of them. */
export interface WorkerRunParts {
  readonly link: RunReports;
  readonly clock: Clock;
  readonly gates: Gates;
  /** Takes the reason to leave the run because no server answers. */
  unanswered(reason: StopReason): void;
  /** False while no record may begin; absent for always. */
  readonly mayBegin?: (() => boolean) | undefined;
}

/** Everything of a run that a worker needs before its first record. */
export interface PreparedRun {
  readonly manifest: Manifest;
  readonly plan: Plan;
  readonly credentials: FlowSecrets;
  readonly messages: Messages;
}

/** Prepares a run: its plan, and its secrets, which are on this machine. Throws a FlowError (`credential`) if one is missing. */
export async function prepareRun(manifest: Manifest, warn: (message: string) => void): Promise<PreparedRun> {
  const redactor = createRedactor();
  const messages: Messages = { redactor, say: () => undefined, warn: (message) => warn(redactor.text(message)) };
  const plan = await planOf(manifest);
  await readDataFiles(plan);
  const { flow, env } = manifest;
  return { manifest, plan, credentials: await loadSecrets(plan, flow.file, { env }, messages), messages };
}

/** The part of a run that takes place in a worker: records pass the nodes, and their results go to the run. */
export class WorkerRun {
  /** Resolves once every record that was begun is reported, and everything is closed. */
  readonly ended: Promise<void>;
  readonly #input = new WorkerInput();
  readonly #parts: WorkerRunParts;
  #run: Run | undefined;
  #closing: Closing | undefined;
  /** True once this worker leaves the run, which goes on elsewhere. */
  #isLeaving = false;

  constructor(prepared: PreparedRun, parts: WorkerRunParts) {
    this.#parts = parts;
    this.ended = this.#pass(prepared);
  }

  /** Takes the records of a unit. */
  add(items: readonly UnitItem[]): void {
    this.#input.add(items);
  }

  /** No more units come. */
  end(): void {
    this.#input.end();
  }

  /** Closes the run in this worker. */
  close(closing: Closing): void {
    this.#closing = closing;
    this.#run?.phase.advance(closing.phase, closing.reason);
  }

  /** Begins no more records, and ends once those under way have. The run goes on in other workers. */
  leave(reason: StopReason): void {
    this.#isLeaving = true;
    this.close({ phase: 'finishing', reason });
    this.end();
  }

  async #pass({ manifest, plan, credentials, messages }: PreparedRun): Promise<void> {
    const { link, clock, gates, unanswered, mayBegin } = this.#parts;
    const { redactor, warn } = messages;
    const { env, cacert, flow, run, format, columns, csvSafe } = manifest;
    const how = { cacert, environment: process.env, warn };
    const routes = new Routes(how);
    const certified = await certifiedRoutes(plan.certificates, credentials, how);
    const ledger = new WorkerLedger(link, pricesOf(plan, env), clock);
    const { allowHttp } = flow.options;
    const ports = wire({
      ...{ run, credentials, redactor, allowHttp, cacert, ledger, env, routes, certified, files: { folder: undefined } },
      report: (event) => isOfWorker(event) && link.report(event),
      warn,
    });
    const output = new WorkerOutput(link, createWriter(format, columns, { csvSafe }), redactor, new SpillFiles(spillPath));
    const parts = {
      input: this.#input.read(),
      output,
      ports: { ...ports, spending: workerSpending(link) },
      gates,
      trace: manifest.wantsAttempts ? (attempt: Attempt) => link.add({ kind: 'attempt', attempt: attemptForm(attempt) }) : undefined,
    };
    const worker = { giveUp: manifest.keepsGoing ? undefined : unanswered, mayBegin };
    const started = startRun(plan, parts, { unordered: true, maxErrors: undefined, keepsGoing: true, worker });
    this.#run = started;
    started.phase.onPhase((phase) => {
      if (!this.#isLeaving) link.tell({ kind: 'closing', phase, reason: started.phase.reason });
    });
    if (this.#closing) this.close(this.#closing);
    try {
      await started.ended;
      await output.flush();
      ledger.giveBack();
    } finally {
      await ports.close();
      routes.destroy();
      certified?.destroy();
      await credentials.usesRecorded();
    }
    await link.flush();
  }
}

/** True for an event that the run does not report itself. */
function isOfWorker({ type }: Event): boolean {
  return !['record-done', 'record-failed', 'record-filtered', 'record-parked', 'stopping', 'run-ended'].includes(type);
}

/** The parts of an attempt that reports and lines show. */
function attemptForm({ record, node, request, ms, result }: Attempt): object {
  const { method, origin, path, kind, tool, connection } = request as unknown as Record<string, unknown>;
  const failure = result instanceof Failure ? { kind: result.kind, message: result.message } : undefined;
  return { record, node, request: { method, origin, path, kind, tool, connection }, ms, result: failure ?? result };
}

function spillPath(): string {
  return join(tmpdir(), `.automate.${randomUUID()}.part`);
}
