import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { version } from '../core/version.ts';
import { Gates } from '../engine/gates.ts';
import { createClock } from '../files/clock.ts';
import type { Metrics } from '../run/metrics.ts';
import { JoinedRun } from './joined-run.ts';
import type { OpenQueue } from './open-queue.ts';
import { isRunId } from './queue/queue-keys.ts';
import { readAnswer } from './queue/queue-message.ts';
import { unitsPerWorker } from './queue/queue-units.ts';
import { deadMs, expireRun, type FoundRun, findRun, runIds } from './queue/run-entry.ts';
import { takeUnits, type UnitEnd, type UnitPlace } from './queue/unit-jobs.ts';
import { removeWorker, Silences, showWorker, type WorkerSign } from './queue/worker-signs.ts';
import { queuedWorker, shortId } from './queue-status.ts';

const beatMs = 1000;

interface QueueWorkerOptions {
  readonly leaseMs: number;
  /** After `stop`, open records have this time in ms to end. */
  readonly graceMs: number;
  /** The worker ends after this time without a unit. If undefined, it waits for work without a limit. */
  readonly idleMs?: number;
  say(text: string): void;
  warn(text: string): void;
  readonly metrics?: Pick<Metrics, 'follow' | 'addWorker'>;
}

/** A worker of a queue. In this process, it processes units of every queued run that it can process. */
export class QueueWorker {
  readonly #queue: OpenQueue;
  readonly #options: QueueWorkerOptions;
  readonly id = `${hostname()}-${process.pid}-${randomBytes(2).toString('hex')}`;
  /** True if all unfinished records were handed back to the queue. */
  readonly ended: Promise<boolean>;
  readonly #clock = createClock();
  readonly #gates: Gates;
  readonly #silences: Silences;
  /** The runs for which this worker has printed that it left them. */
  readonly #saidLeft = new WeakSet<JoinedRun>();
  /** The runs without a coordinator for which this worker has set the expiry of the keys. */
  readonly #expiring = new WeakSet<JoinedRun>();
  readonly #runs = new Map<string, JoinedRun>();
  /** The texts in Redis that are not ids of runs, and that this worker has warned of. */
  #saidForeign: ReadonlySet<string> = new Set();
  readonly #warned = new Set<string>();
  #taker: Awaited<ReturnType<typeof takeUnits>> | undefined;
  #beat: NodeJS.Timeout | undefined;
  #isBeating = false;
  #isStopping = false;
  /** The time, by this worker's clock, of its last sign of life in Redis. */
  #shownMs: number;
  #busyMs: number;
  #records = 0;
  #end: (isClean: boolean) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(queue: OpenQueue, options: QueueWorkerOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#gates = new Gates(this.#clock, (gate) => queue.gates.permitsOf(gate));
    this.#silences = new Silences(queue.now);
    this.#shownMs = queue.now();
    this.#busyMs = queue.now();
    options.metrics?.addWorker({ queue: queue.name, sign: () => queuedWorker(this.#sign()) });
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
  }

  async start(): Promise<void> {
    const { redis, keys, seal, gates } = this.#queue;
    await gates.onPause((...pause) => this.#gates.pausedElsewhere(...pause));
    const subscriber = redis.duplicate();
    subscriber.on('messageBuffer', (_channel, message: Buffer) => {
      const answer = readAnswer(seal.unsealValue(message, `to ${this.id}`));
      if (answer) this.#runs.get(answer.run)?.told(answer);
    });
    await redis.insist(() => subscriber.subscribe(keys.worker(this.id)));
    await this.#look();
    this.#beat = setInterval(() => void this.#look(), beatMs);
    const { leaseMs } = this.#options;
    this.#taker = await takeUnits(redis, keys, { units: unitsPerWorker, leaseMs }, (place) => this.#take(place));
  }

  /** Reports the open records, and hands the rest back. If the grace period ends before this is done, `ended` resolves with false. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#taker?.pause();
    const { graceMs } = this.#options;
    const all = this.#leaveAll(graceMs);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), graceMs);
    });
    // If the connection to Redis is lost in the meantime, these calls might never return.
    const isClean = await Promise.race([all.then(() => this.#close()).then(() => true), late]);
    clearTimeout(timer);
    if (!isClean) {
      for (const [id, run] of this.#runs) this.#sayLeft(id, run, 'its records were not finished in time');
      void this.#close();
    }
    this.#end(isClean);
  }

  /** Leaves all runs. Resolves once their open records are reported. */
  async #leaveAll(patienceMs: number): Promise<void> {
    const all = [...this.#runs].map(async ([id, run]) => {
      await run.leave('stopping', patienceMs);
      this.#sayLeft(id, run, 'this worker stops');
    });
    await Promise.all(all);
  }

  #sayLeft(id: string, run: JoinedRun, why: string): void {
    if (run.isReady && !this.#saidLeft.has(run)) this.#options.say(`left run ${shortId(id)}: ${why}`);
    this.#saidLeft.add(run);
  }

  async #close(): Promise<void> {
    clearInterval(this.#beat);
    const { redis, keys } = this.#queue;
    await this.#taker?.close();
    if (!redis.isAway) await removeWorker(redis, keys, this.id).catch(() => undefined);
  }

  /** True while no other worker can have taken this worker's records, because this worker's lease in Redis has not expired. */
  readonly #isShown = () => this.#queue.now() - this.#shownMs < this.#options.leaseMs;

  async #look(): Promise<void> {
    const { redis, now } = this.#queue;
    if (this.#isStopping) return;
    if (!this.#isShown()) for (const run of this.#runs.values()) void run.leave('stale');
    if (redis.isAway || this.#isBeating) return;
    this.#isBeating = true;
    try {
      const sentMs = now();
      await redis.heartbeat(() => showWorker(this.#queue, this.#sign()));
      this.#shownMs = sentMs;
      await this.#queue.jobs.putDue();
      await this.#lookAtRuns();
      this.#endIfIdle();
    } catch (error) {
      // A worker that was never shown would wait for ever.
      if (!this.#beat) redis.throwIfDenied(error as Error);
      // Redis cannot be reached or is full, or refuses something for good. The next heartbeat tries again.
      if (!redis.isAway && redis.client.status === 'ready') this.#warnOnce((error as Error).message);
    } finally {
      this.#isBeating = false;
    }
  }

  #sign(): WorkerSign {
    const problems = [...this.#runs.values()].flatMap(({ problem }) => problem ?? []);
    const { leaseMs } = this.#options;
    const units = this.#taker?.held ?? 0;
    return { id: this.id, host: hostname(), pid: process.pid, version, leaseMs, units, records: this.#records, problems };
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.warn(`${this.#queue.url} refuses a command: ${message}`);
  }

  async #lookAtRuns(): Promise<void> {
    const { redis, keys } = this.#queue;
    const ids = await runIds(redis, keys);
    // A known run may be missing from the set: its coordinator adds it again. A run whose keys cannot be read must not hide the runs after it.
    for (const id of new Set([...ids, ...this.#runs.keys()])) if (isRunId(id)) await this.#lookAt(id).catch(() => undefined);
    this.#sayForeign(ids.filter((id) => !isRunId(id)));
    const all = [...this.#runs.values()];
    this.#taker?.setTaking(all.length === 0 || all.some(({ problem }) => !problem));
  }

  /** Warns once of texts in the list of runs that are not ids of runs. */
  #sayForeign(ids: readonly string[]): void {
    for (const id of ids) {
      if (!this.#saidForeign.has(id))
        this.#options.warn(`cannot process a run: expected a UUID as its id, found ${JSON.stringify(id.slice(0, 60))}`);
    }
    this.#saidForeign = new Set(ids);
  }

  async #lookAt(id: string): Promise<void> {
    const { redis, keys, seal } = this.#queue;
    const found = await findRun(redis, keys, seal, id);
    const known = this.#runs.get(id);
    if (!found) {
      if (known) this.#forget(id, known);
      return;
    }
    const { state } = found;
    const run = known && (!state || state.gen === known.gen) ? known : this.#joinAgain(id, found, known);
    const isCurrent = run.hears(state?.beat);
    // An old state that somebody puts back does not count as a sign of life.
    const isOrphaned = this.#silences.note(id, run.beat, found.ageMs) >= deadMs;
    if (isOrphaned) {
      this.#sayLeft(id, run, `its coordinator has not been seen for ${deadMs / 1000} s`);
      run.orphan();
    }
    if (isOrphaned || state?.hasEnded) await this.#expire(id, run);
    if (state && isCurrent && state.closing) run.close(state.closing);
    if (state?.hasEnded) return isCurrent ? void run.finish() : undefined;
    if (!isOrphaned) await run.prepare(found);
  }

  async #expire(id: string, run: JoinedRun): Promise<void> {
    if (this.#expiring.has(run)) return;
    await expireRun(this.#queue.redis, this.#queue.keys.run(id));
    this.#expiring.add(run);
  }

  #joinAgain(id: string, found: FoundRun, known: JoinedRun | undefined): JoinedRun {
    const run = this.#join(id, found);
    if (known) {
      this.#sayLeft(id, known, 'its coordinator is queuing its records again');
      known.abandon();
    }
    return run;
  }

  #join(id: string, { state, gen, flow }: FoundRun): JoinedRun {
    const run = new JoinedRun(this.#queue, this.id, {
      ...{
        id,
        gen: state?.gen ?? gen,
        flow,
        clock: this.#clock,
        gates: this.#gates,
        isShown: this.#isShown,
        say: this.#options.say,
        warn: this.#options.warn,
        metrics: this.#options.metrics,
      },
      finished: (records) => {
        this.#records += records;
        this.#busyMs = this.#queue.now();
      },
      failed: (error) => void this.#break(error),
    });
    this.#runs.set(id, run);
    return run;
  }

  #forget(id: string, run: JoinedRun): void {
    this.#runs.delete(id);
    const why = run.hasEnded ? 'it has ended' : 'it is no longer in Redis, so it has ended, or Redis has lost its data';
    run.abandon();
    this.#silences.forget(id);
    this.#sayLeft(id, run, why);
  }

  async #take(place: UnitPlace): Promise<UnitEnd> {
    this.#busyMs = this.#queue.now();
    if (this.#isStopping) return 'back';
    try {
      await this.#lookAt(place.run);
    } catch {
      return 'later';
    }
    const run = this.#runs.get(place.run);
    if (!run) return 'done';
    return run.take(place);
  }

  #endIfIdle(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined || (this.#taker?.held ?? 0) > 0) return;
    if (this.#queue.now() - this.#busyMs >= idleMs) void this.stop();
  }

  /** Ends the worker because its temporary files cannot be written. Unfinished records go back to the queue. */
  async #break(error: unknown): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#taker?.pause();
    await this.#leaveAll(0);
    await this.#close();
    this.#fail(error);
  }
}
