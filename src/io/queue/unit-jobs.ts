import type { Job, Worker } from 'bullmq';
import type { QueueRedis } from './connection.ts';

/** The place of a unit: its run, and its name in the run. */
export interface UnitPlace {
  readonly run: string;
  readonly unit: string;
}

/** The way in which a worker ends its hold of a unit: done, again for others at once, or again later. */
export type UnitEnd = 'done' | 'back' | 'later';

const queueName = 'units';

/** A unit that cannot be done here now comes again after this time. */
const laterMs = 2000;

/** Units are handed out again as often as it takes: a run ends by itself if they kill workers. */
const often = 1_000_000;

/** Puts units into the queue. */
export interface UnitQueue {
  put(place: UnitPlace): Promise<void>;
  remove(place: UnitPlace): Promise<void>;
  counts(): Promise<{ readonly waiting: number; readonly active: number }>;
  close(): Promise<void>;
}

/** Opens the queue for those who put units into it. */
export async function openUnitQueue(redis: QueueRedis, prefix: string): Promise<UnitQueue> {
  const { Queue } = await import('bullmq');
  const connection = redis.duplicate();
  const queue = new Queue<UnitPlace>(queueName, { connection, prefix, streams: { events: { maxLen: 100 } } });
  queue.on('error', () => undefined);
  const options = { removeOnComplete: true, removeOnFail: true, attempts: often };
  return {
    async put(place) {
      await redis.insist(() => queue.add('unit', place, { ...options, jobId: jobId(place) }));
    },
    async remove(place) {
      await queue.remove(jobId(place)).catch(() => undefined);
    },
    async counts() {
      const { waiting = 0, delayed = 0, active = 0 } = await queue.getJobCounts('waiting', 'delayed', 'active');
      return { waiting: waiting + delayed, active };
    },
    async close() {
      connection.disconnect();
      await queue.close().catch(() => undefined);
    },
  };
}

/** BullMQ takes whole numbers and colons in ids for its own. */
function jobId({ run, unit }: UnitPlace): string {
  return `${run}-${unit}`;
}

/** The settings of a worker that takes units. */
export interface UnitTakerOptions {
  /** Units that are held at a time. */
  readonly units: number;
  readonly leaseMs: number;
}

/** Takes units from the queue, and holds them until they end. */
export interface UnitTaker {
  /** Units that are held. */
  readonly held: number;
  /** Takes no more units. Those that are held stay. */
  pause(): void;
  close(): Promise<void>;
}

/** A taker that has taken no unit for this long although units wait is made anew: BullMQ's workers have failed to go on after Redis was away. */
const deafMs = 30_000;

/** Takes units. `take` resolves with the end of the worker's hold. */
export async function takeUnits(
  redis: QueueRedis,
  prefix: string,
  options: UnitTakerOptions,
  take: (place: UnitPlace) => Promise<UnitEnd>,
): Promise<UnitTaker> {
  return new Taker(redis, await import('bullmq'), await openUnitQueue(redis, prefix), { ...options, prefix, take });
}

type BullMq = typeof import('bullmq');

class Taker implements UnitTaker {
  held = 0;
  readonly #redis: QueueRedis;
  readonly #bullmq: BullMq;
  readonly #queue: UnitQueue;
  readonly #options: UnitTakerOptions & { readonly prefix: string; take(place: UnitPlace): Promise<UnitEnd> };
  readonly #watchdog: NodeJS.Timeout;
  #worker: Worker<UnitPlace>;
  #takenMs = performance.now();
  #isPaused = false;

  constructor(
    redis: QueueRedis,
    bullmq: BullMq,
    queue: UnitQueue,
    options: UnitTakerOptions & { readonly prefix: string; take(place: UnitPlace): Promise<UnitEnd> },
  ) {
    this.#redis = redis;
    this.#bullmq = bullmq;
    this.#queue = queue;
    this.#options = options;
    this.#worker = this.#open();
    this.#watchdog = setInterval(() => void this.#reopenIfDeaf(), deafMs / 3);
    this.#watchdog.unref();
  }

  pause(): void {
    this.#isPaused = true;
    void this.#worker.pause(true).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isPaused = true;
    clearInterval(this.#watchdog);
    await this.#worker.close(true).catch(() => undefined);
    await this.#queue.close();
  }

  #open(): Worker<UnitPlace> {
    const { prefix, units, leaseMs } = this.#options;
    const worker = new this.#bullmq.Worker<UnitPlace>(queueName, (job, token) => this.#hold(job, token), {
      ...{ connection: this.#redis.duplicate(), prefix, concurrency: units },
      ...{ lockDuration: leaseMs, stalledInterval: Math.round(leaseMs / 3), maxStalledCount: often, drainDelay: 2 },
      ...{ removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
    });
    worker.on('error', () => undefined);
    return worker;
  }

  async #hold(job: Job<UnitPlace>, token: string | undefined): Promise<void> {
    this.held++;
    this.#takenMs = performance.now();
    try {
      const end = await this.#options.take(job.data);
      if (end === 'done') return;
      if (end === 'back') await job.moveToWait(token);
      else await job.moveToDelayed(Date.now() + laterMs, token);
      throw end === 'back' ? new this.#bullmq.WaitingError() : new this.#bullmq.DelayedError();
    } finally {
      this.held--;
    }
  }

  async #reopenIfDeaf(): Promise<void> {
    const cannotTake = () => this.#isPaused || this.held > 0;
    if (cannotTake() || this.#redis.isAway || performance.now() - this.#takenMs < deafMs) return;
    const { waiting } = await this.#queue.counts().catch(() => ({ waiting: 0 }));
    this.#takenMs = performance.now();
    if (waiting === 0 || cannotTake()) return;
    void this.#worker.close(true).catch(() => undefined);
    this.#worker = this.#open();
  }
}
