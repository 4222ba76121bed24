import { hostname } from 'node:os';
import type { Event } from '../core/event.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { NetworkAddress } from '../core/run-options.ts';
import { version } from '../core/version.ts';
import { type FlowMetrics, type LiveFigures, MetricsRegistry } from '../report/metrics-registry.ts';
import { type MetricsServer, serveMetrics } from '../report/metrics-server.ts';
import { Pauses } from '../report/pauses.ts';
import type { ReportedRun } from '../report/reported-run.ts';
import type { QueuedWorker, QueueStatus, RunStatus } from '../report/run-status.ts';
import { type RunHandle, runFlow } from './run.ts';
import type { OpenRun, RunRequest, RunSurroundings } from './run-request.ts';

const queuePatienceMs = 2000;

interface ShownWorker {
  readonly queue: string;
  sign(): QueuedWorker;
}

/** Serves the metrics of this process over HTTP: `/metrics` for Prometheus, `/status.json` for programs. */
export class Metrics {
  readonly #registry = new MetricsRegistry();
  readonly #runs = new Set<OpenRun>();
  #worker: ShownWorker | undefined;
  #server: MetricsServer | undefined;
  #hasQueue = false;

  /** Throws an AutomateError: `output-exists` if the port is taken, `usage` if the server cannot listen at the address. */
  static async open(address: NetworkAddress): Promise<Metrics> {
    const metrics = new Metrics();
    const status = async () => `${JSON.stringify(await metrics.#status())}\n`;
    metrics.#server = await serveMetrics(
      address,
      new Map([
        ['/metrics', { type: metrics.#registry.contentType, text: () => metrics.#registry.text() }],
        ['/status.json', { type: 'application/json', text: status }],
      ]),
    );
    return metrics;
  }

  get url(): string {
    return `${this.#server?.url}/metrics`;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  follow(name: string, { steps }: Pick<Plan, 'steps'>, figures: Omit<LiveFigures, 'pausedMs'>): FollowedFlow {
    return new FollowedFlow((pauses) => {
      const nodes = allSteps(steps).flatMap(({ id, node }) => (node.action ? [id] : []));
      return this.#registry.addFlow(name, nodes, { ...figures, pausedMs: () => pauses.totalMs() });
    });
  }

  /** Runs a flow as `runFlow` does, and shows the run in the metrics. */
  run(request: RunRequest, surroundings: RunSurroundings): RunHandle {
    let followed: FollowedFlow | undefined;
    let shown: OpenRun | undefined;
    const handle = runFlow(request, {
      ...surroundings,
      event(event) {
        // The run that goes on after a pilot counts the pilot's records when it writes them.
        const isCountedLater = request.pilot !== undefined && (event.type === 'record-done' || event.type === 'record-failed');
        if (!isCountedLater) followed?.add(event);
        surroundings.event?.(event);
      },
      started: (run, waiting) => {
        shown = run;
        this.#runs.add(shown);
        if (request.options.queue !== undefined) this.#addQueue();
        const { session } = run;
        const figures = { credits: () => session.ports.credits(), open: () => openCount(run) };
        followed = this.follow(session.redactor.text(request.plan.name), request.plan, figures);
        return surroundings.started?.(run, waiting);
      },
    });
    const end = () => {
      if (shown) this.#runs.delete(shown);
      followed?.end();
    };
    handle.ended.then(end, end);
    return handle;
  }

  addWorker(worker: ShownWorker): void {
    this.#worker = worker;
    this.#registry.addWorker(() => worker.sign().units);
  }

  #addQueue(): void {
    if (this.#hasQueue) return;
    this.#hasQueue = true;
    this.#registry.addQueue(async () => {
      const status = await this.#queueStatus();
      const [units] = status?.runs.map((run) => run.units) ?? [];
      return status && units && { units, workers: status.workers.length };
    });
  }

  /** The queue is null if there is none. */
  async #status(): Promise<Omit<QueueStatus, 'queue'> & { readonly queue: string | null }> {
    if (this.#worker) return { queue: this.#worker.queue, runs: [], workers: [this.#worker.sign()] };
    const status = await this.#queueStatus();
    const queued = (run: OpenRun) => status?.runs.find((one) => one.run === run.claim.run);
    const runs = [...this.#runs].map((run) => runStatus(run, queued(run)));
    const named = [...this.#runs].map(({ request }) => request.options).find(({ queue }) => queue !== undefined);
    return { queue: named ? (named.queueName ?? 'default') : null, runs, workers: status?.workers ?? [] };
  }

  /** Undefined if there is no queue or Redis does not respond in time. */
  async #queueStatus(): Promise<QueueStatus | undefined> {
    const read = [...this.#runs].map(({ progress }) => progress.workers?.queueStatus).find((found) => found);
    if (!read) return undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), queuePatienceMs);
      timer.unref();
    });
    return Promise.race([read().catch(() => undefined), late]).finally(() => clearTimeout(timer));
  }
}

/** Counts the work of one flow in the metrics. */
export class FollowedFlow {
  readonly #pauses = new Pauses(() => performance.now());
  readonly #metrics: FlowMetrics;

  constructor(open: (pauses: Pauses) => FlowMetrics) {
    this.#metrics = open(this.#pauses);
  }

  add(event: Event): void {
    if (event.type === 'gate-paused') this.#pauses.add(event);
    this.#metrics.add(event);
  }

  end(): void {
    this.#metrics.end();
  }
}

/** @internal */
export function openCount({ progress: { tally, reading } }: ReportedRun): number {
  return Math.max(0, reading.records - tally.read);
}

export function recordCounts(run: ReportedRun): RunStatus['records'] & { readonly credits: number } {
  const { progress, session } = run;
  const { written, failed } = progress.tally;
  return { read: progress.reading.records, written, failed, open: openCount(run), credits: session.ports.credits() };
}

/** `queued` is the run's state in its queue; undefined without a queue. */
function runStatus(run: ReportedRun, queued: RunStatus | undefined): RunStatus {
  const { request, progress } = run;
  const { credits, ...records } = recordCounts(run);
  return {
    run: run.claim.run,
    flow: run.session.redactor.text(request.plan.name),
    state: progress.tally.stop ? 'stopping' : (queued?.state ?? 'running'),
    started: new Date(progress.startedAtMs).toISOString(),
    version,
    coordinator: { host: hostname(), pid: process.pid, alive: true },
    records,
    ...(queued && { units: queued.units }),
    credits,
  };
}
