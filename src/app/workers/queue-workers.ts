import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Trace } from '../../core/action.ts';
import { UnitPassage } from '../../engine/passage/unit-passage.ts';
import { QueueUnits } from '../../io/queue/queue-units.ts';
import type { RunProblem, SeenWorker } from '../../io/queue/worker-signs.ts';
import { isTable } from '../input/input.ts';
import { pricesOf } from '../ports/run-ledger.ts';
import type { OpenRun } from '../run-request.ts';
import { version } from '../version.ts';
import { RunDesk } from './desk.ts';
import { manifestOf } from './manifest.ts';
import type { OpenQueue } from './open-queue.ts';
import type { Workers } from './open-workers.ts';
import type { WorkerWait } from './worker-wait.ts';

/** A run waits this long for a worker that can do it, unless it is told. */
const defaultWaitMs = 600_000;

/** While a run waits for workers, it says so this often. */
const sayEveryMs = 10_000;

/** The parts of a run that its workers in a queue concern. */
export interface QueueFollower {
  readonly attempt: Trace | undefined;
  warn(message: string): void;
  /** No worker can do the run for now. */
  waiting?(wait: WorkerWait): void;
}

/** Puts the records of a run into a queue. Throws an AutomateError (`output-exists`) if the run has another coordinator. */
export async function openQueueWorkers(run: OpenRun, queue: OpenQueue, follower: QueueFollower): Promise<Workers> {
  const { session, source, request, claim, progress } = run;
  const { ports, ledger } = session;
  const { plan, options, retried } = request;
  const { attempt, warn } = follower;
  const desk = new RunDesk({
    ...{ clock: ports.clock, ledger, spending: ports.spending, prices: pricesOf(plan, options.env), workers: 1 },
    // Pauses go over Redis.
    pause: () => undefined,
    ...{ report: ports.report, warn, attempt },
  });
  const cacert = options.cacert === undefined ? undefined : readFileSync(options.cacert, 'utf8');
  const watch = new WorkerWatch(run, queue, follower);
  const facts = {
    version,
    flow: plan.name,
    host: hostname(),
    pid: String(process.pid),
    started: new Date(progress.startedAtMs).toISOString(),
  };
  const units = new QueueUnits(queue, {
    ...{ run: claim.run, manifest: manifestOf(run, attempt !== undefined, cacert), facts, isTable: isTable(source.format), desk },
    takesOldResults: retried === undefined,
    counts: () => recordCounts(run),
    looked: (workers) => watch.see(workers, units),
  });
  await units.begin();
  return {
    passage: (tools) => new UnitPassage(plan, units, ports.clock, tools),
    figures: {
      get now() {
        return units.ableWorkers;
      },
      get most() {
        return units.most;
      },
      get lost() {
        return units.lost;
      },
      get maybeSpent() {
        return desk.maybeSpent;
      },
    },
    kill: () => units.drop(),
  };
}

/** The counts of a run, for `status`. */
function recordCounts({ progress: { tally, reading }, session: { ports } }: OpenRun): object {
  const { written, failed } = tally;
  return { read: reading.records, written, failed, open: Math.max(0, reading.records - written - failed), credits: ports.credits() };
}

/** Says that no worker can do the run, and ends it when that has lasted too long. */
class WorkerWatch {
  readonly #run: OpenRun;
  readonly #queue: OpenQueue;
  readonly #follower: QueueFollower;
  #sinceMs: number | undefined;
  #saidMs = 0;

  constructor(run: OpenRun, queue: OpenQueue, follower: QueueFollower) {
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
    const unable = problems.find(({ isUnable }) => isUnable);
    if (unable && problems.every(({ isUnable }) => isUnable))
      units.closeEarly({ phase: 'finishing', reason: { ending: 'unreachable', message: unable.problem, patienceMs: 0 } });
    const { waitForWorkers = defaultWaitMs } = this.#run.request.options;
    if (now - this.#sinceMs >= waitForWorkers) this.#end(units, problems);
  }

  #end(units: QueueUnits, problems: readonly RunProblem[]): void {
    const lacksSecrets = problems.length > 0 && problems.every(({ credentials }) => credentials);
    const ending = lacksSecrets ? 'refused-credential' : 'no-workers';
    const message = problems[0] ? `no worker can do the run: ${problems[0].problem}` : 'there is no worker';
    units.closeEarly({ phase: 'stopped', reason: { ending, message } });
  }
}
