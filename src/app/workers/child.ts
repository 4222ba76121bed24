import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attempt } from '../../core/action.ts';
import type { Event } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { Closing } from '../../core/workers/closing.ts';
import { Gates } from '../../engine/gates.ts';
import { type Run, startRun } from '../../engine/run.ts';
import { createClock } from '../../io/clock/clock.ts';
import { Routes } from '../../io/http/routes.ts';
import { SpillFiles } from '../../io/output/spill.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import { createRedactor } from '../../io/secrets/redact.ts';
import { PipeLink } from '../../io/workers/pipe-link.ts';
import { errorForm, type ToWorker } from '../../io/workers/wire-form.ts';
import { readDataFiles } from '../flow/flow-file.ts';
import { loadSecrets } from '../flow/flow-secrets.ts';
import { limitYoungGeneration } from '../heap-limit.ts';
import type { Messages } from '../messages.ts';
import { pricesOf } from '../ports/run-ledger.ts';
import { wire } from '../ports/wire.ts';
import { certifiedRoutes } from '../session.ts';
import { type Manifest, planOf } from './manifest.ts';
import { WorkerInput } from './worker-input.ts';
import { WorkerLedger, workerSpending } from './worker-ledger.ts';
import { WorkerOutput } from './worker-output.ts';

/** The file descriptor of the pipe to the parent. */
const pipeFd = 3;

/** Passes records of a run in a child process, which the parent talks to over a pipe. Ends the process. */
export async function childProcess(): Promise<void> {
  const pipe = new Socket({ fd: pipeFd, readable: true, writable: true });
  const child = new ChildWorker(pipe);
  // The parent is dead, or the pipe is broken.
  pipe.on('error', () => process.exit(1));
  pipe.on('end', () => child.hasEnded || process.exit(1));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, (error) => void child.fail(error));
  await child.ended.catch((error: unknown) => child.fail(error));
  process.exit(0);
}

class ChildWorker {
  readonly ended: Promise<void>;
  hasEnded = false;
  readonly #link: PipeLink;
  readonly #input = new WorkerInput();
  readonly #clock = createClock();
  readonly #gates: Gates;
  #run: Run | undefined;
  #closing: Closing | undefined;
  #begin: (manifest: Manifest) => void = () => undefined;

  constructor(pipe: Socket) {
    this.#link = new PipeLink(pipe, { unit: (items) => this.#input.add(items), told: (message) => this.#told(message) });
    this.#gates = new Gates(this.#clock, (gate) => this.#link.permitsOf(gate));
    this.ended = new Promise<Manifest>((resolve) => {
      this.#begin = resolve;
    }).then((manifest) => this.#pass(manifest));
  }

  /** Reports an error, which ends the run, and exits. */
  async fail(error: unknown): Promise<never> {
    this.#link.tell({ kind: 'error', error: errorForm(error) });
    await this.#link.close();
    return process.exit(1);
  }

  #told(message: Exclude<ToWorker, { kind: 'answer' }>): void {
    if (message.kind === 'run') this.#begin(message.manifest as Manifest);
    if (message.kind === 'pause') this.#gates.pauseHere(message.gate, message.waitMs);
    if (message.kind === 'end') this.#input.end();
    if (message.kind !== 'closing') return;
    this.#closing = message;
    this.#run?.phase.advance(message.phase, message.reason);
  }

  async #pass(manifest: Manifest): Promise<void> {
    const link = this.#link;
    const redactor = createRedactor();
    const messages: Messages = {
      redactor,
      say: () => undefined,
      warn: (message) => link.add({ kind: 'warning', message: redactor.text(message) }),
    };
    const plan = await planOf(manifest);
    await readDataFiles(plan);
    const { env, cacert, flow, run, format, columns, csvSafe } = manifest;
    const credentials = await loadSecrets(plan, flow.file, { env }, messages);
    const routes = new Routes({ cacert, environment: process.env, warn: messages.warn });
    const certified = await certifiedRoutes(plan.certificates, credentials, { cacert, environment: process.env, warn: messages.warn });
    const ledger = new WorkerLedger(link, pricesOf(plan, env), this.#clock);
    const { allowHttp } = flow.options;
    const ports = wire({
      ...{ run, credentials, redactor, allowHttp, cacert, ledger, env, routes, certified, files: { folder: undefined } },
      report: (event) => isOfWorker(event) && link.report(event),
      warn: messages.warn,
    });
    limitYoungGeneration();
    const output = new WorkerOutput(link, createWriter(format, columns, { csvSafe }), redactor, new SpillFiles(spillPath));
    const parts = {
      input: this.#input.read(),
      output,
      ports: { ...ports, spending: workerSpending(link) },
      gates: this.#gates,
      trace: manifest.wantsAttempts ? (attempt: Attempt) => link.add({ kind: 'attempt', attempt: attemptForm(attempt) }) : undefined,
    };
    const giveUp = manifest.keepsGoing
      ? undefined
      : (reason: Closing['reason']) => link.tell({ kind: 'closing', phase: 'finishing', reason });
    const started = startRun(plan, parts, { unordered: true, maxErrors: undefined, keepsGoing: true, worker: { giveUp } });
    this.#run = started;
    started.phase.onPhase((phase) => link.tell({ kind: 'closing', phase, reason: started.phase.reason }));
    if (this.#closing) started.phase.advance(this.#closing.phase, this.#closing.reason);
    await started.ended;
    this.hasEnded = true;
    await output.flush();
    ledger.giveBack();
    await ports.close();
    routes.destroy();
    certified?.destroy();
    await credentials.usesRecorded();
    await link.close();
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
