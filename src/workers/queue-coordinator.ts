import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { usageError } from '../core/failure.ts';
import { version } from '../core/version.ts';
import { pricesOf } from '../credits/prices.ts';
import { UnitPassage } from '../engine/unit-passage.ts';
import { recordCounts } from '../run/metrics.ts';
import type { OpenRun, WorkerFollower, Workers } from '../run/run-request.ts';
import { manifestOf, maxManifestBytes } from './manifest.ts';
import type { OpenQueue } from './open-queue.ts';
import { QueueUnits } from './queue/queue-units.ts';
import type { RunProblem, SeenWorker } from './queue/worker-signs.ts';
import { queueStatus } from './queue-status.ts';
import { RunDesk } from './run-desk.ts';

/** Default time in ms for which a run waits for a worker that can process it. */
const defaultWaitMs = 600_000;

/** Interval in ms between messages while a run waits for workers. */
const sayEveryMs = 10_000;

/** Throws an AutomateError (`output-exists`) if another process already coordinates the run. */
export async function openQueueWorkers(run: OpenRun, queue: OpenQueue, follower: WorkerFollower): Promise<Workers> {
  const { session, source, request, claim, progress } = run;
  const { ports, ledger } = session;
  const { plan, options, retried } = request;
  const { attempt, warn } = follower;
  const desk = new RunDesk({
    ...{ ledger, spending: ports.spending, saveNames: ports.saveNames, prices: pricesOf(plan, options.env) },
    ...{ report: ports.report, warn, attempt },
    workers: () => Math.max(1, units.alive),
  });
  const cacert = options.cacert === undefined ? undefined : { pem: readFileSync(options.cacert, 'utf8') };
  const watch = new WorkerWatch(run, queue, follower);
  const facts = {
    version,
    flow: plan.name,
    host: hostname(),
    pid: String(process.pid),
    started: new Date(progress.startedAtMs).toISOString(),
  };
  const manifest = manifestOf(run, attempt !== undefined, { cacert });
  if (Buffer.byteLength(JSON.stringify(manifest)) > maxManifestBytes)
    throw usageError(`expected a flow, columns and authorities of at most ${maxManifestBytes / 2 ** 20} MB for a queue`);
  const units: QueueUnits = new QueueUnits(queue, {
    ...{
      run: claim.run,
      manifest,
      facts,
      hasHeader: source.header !== undefined,
      desk,
    },
    takesOldResults: retried === undefined,
    newText: () => run.output.newText(),
    counts: () => recordCounts(run),
    warn,
    troubled: (problem) => warn(`${queue.url} ${problem}`),
    looked: (workers) => watch.see(workers, units),
  });
  await units.begin();
  return {
    passage: (tools) => new UnitPassage(plan, units, ports.clock, tools),
    figures: desk.figuresOf(units, async () => (queue.redis.isAway ? undefined : queueStatus(queue))),
    kill: () => units.drop(),
  };
}

/** Checks if any worker can process the run. While none can, reports this repeatedly, and ends the run if the wait is too long. */
class WorkerWatch {
  readonly #run: OpenRun;
  readonly #queue: OpenQueue;
  readonly #follower: WorkerFollower;
  #sinceMs: number | undefined;
  #saidMs = 0;

  constructor(run: OpenRun, queue: OpenQueue, follower: WorkerFollower) {
    this.#run = run;
    this.#queue = queue;
    this.#follower = follower;
  }

  see(workers: readonly SeenWorker[], units: QueueUnits): void {
    const now = this.#queue.now();
    const problems = workers.flatMap(({ id, problems: all }) => {
      const own = all.find(({ run }) => run === this.#run.claim.run);
      return own ? [{ worker: id, ...own }] : [];
    });
    if (workers.length > problems.length) {
      this.#sinceMs = undefined;
      return;
    }
    const isNew = this.#sinceMs === undefined;
    this.#sinceMs ??= now;
    if (isNew || now - this.#saidMs >= sayEveryMs) {
      this.#saidMs = now;
      const { url } = this.#queue;
      this.#follower.waiting?.({ url, queueName: this.#run.request.options.queueName, problems });
    }
    const [unable] = problems;
    if (unable?.ending && problems.every(({ ending }) => ending)) {
      const message = unable.ending === 'no-workers' ? unableText(problems) : unable.problem;
      units.closeEarly({ phase: 'stopped', reason: { ending: unable.ending, message } });
    }
    const { waitForWorkers = defaultWaitMs } = this.#run.request.options;
    if (now - this.#sinceMs >= waitForWorkers) this.#end(units, problems);
  }

  #end(units: QueueUnits, problems: readonly RunProblem[]): void {
    const lacksSecrets = problems.length > 0 && problems.every(({ credentials }) => credentials);
    const ending = lacksSecrets ? 'refused-credential' : 'no-workers';
    units.closeEarly({ phase: 'stopped', reason: { ending, message: unableText(problems) } });
  }
}

function unableText([first]: readonly RunProblem[]): string {
  return first ? `no worker can process the run: ${first.problem}` : 'there is no worker';
}
