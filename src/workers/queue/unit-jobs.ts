import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import * as z from 'zod';
import { AutomateError } from '../../core/failure.ts';
import { ifForeign, type QueueRedis } from './connection.ts';
import { isRunId, type QueueKeys } from './queue-keys.ts';
import { readAs, readJsonAs } from './queue-message.ts';
import { dueScript, putOffScript, takeOutScript, unitStatesScript } from './run-scripts.ts';

/** A run and the unit's name within that run. */
export interface UnitPlace {
  readonly run: string;
  readonly unit: string;
}

const placeShape = z.object({ run: z.string().refine(isRunId), unit: z.string().regex(/^[\da-f]+-\d+$/) });

/** `back` goes to another worker at once, `later` is tried again after a delay. */
export type UnitEnd = 'done' | 'back' | 'later';

const queueName = 'units';

/** Delay in ms before a unit that a worker cannot process at present is tried again. */
const laterMs = 2000;

/** Maximum number of attempts at a unit. It is practically unlimited, because the run stops anyway if a unit crashes its workers. */
const often = 1_000_000;

/** Maximum wait in ms for the units of a closed worker to be back in the queue. */
const backMs = 2000;

/** `missing` if no worker can ever get the unit. */
type UnitState = 'missing' | 'waiting' | 'active';

/** A key of a different type would keep all units in the queue. */
const bullKeys = {
  ...{ wait: 'list', active: 'list', meta: 'hash', id: 'string', 'stalled-check': 'string', stalled: 'set', marker: 'zset' },
  ...{ events: 'stream', delayed: 'zset', prioritized: 'zset', paused: 'list', pc: 'string', completed: 'zset', failed: 'zset' },
};

export interface UnitQueue {
  put(place: UnitPlace): Promise<void>;
  /** Puts a unit into the queue again, although BullMQ has given it to a worker. */
  putAgain(place: UnitPlace): Promise<void>;
  remove(place: UnitPlace): Promise<void>;
  /** Returns the pattern of the keys of a run's jobs. A worker ignores a job whose key is gone. */
  keysOf(run: string): string;
  /** Puts a unit back into the queue after a while, which Redis measures. */
  putOff(place: UnitPlace): Promise<void>;
  /** Puts those units back into the queue that were put off until now. */
  putDue(): Promise<void>;
  /** Returns the states of units. `records` is the key of the unit's records. Repairs the queue if another program has changed its keys. */
  statesOf(units: readonly (UnitPlace & { readonly records: string })[]): Promise<UnitState[]>;
  counts(): Promise<{ readonly waiting: number; readonly active: number }>;
  close(): Promise<void>;
}

export async function openUnitQueue(redis: QueueRedis, { prefix, later }: QueueKeys): Promise<UnitQueue> {
  const { Queue } = await import('bullmq');
  const connection = redis.duplicate();
  const queue = new Queue<UnitPlace>(queueName, { connection, prefix, streams: { events: { maxLen: 100 } } });
  queue.on('error', () => undefined);
  const options = { removeOnComplete: true, removeOnFail: true, attempts: often };
  const { client } = redis;
  const bullKey = (name: string) => `${prefix}:${queueName}:${name}`;
  const addJob = (place: UnitPlace) =>
    redis.insist(() => queue.add('unit', { run: place.run, unit: place.unit }, { ...options, jobId: jobId(place) }));
  const jobs: UnitQueue = {
    async put(place) {
      try {
        await addJob(place).catch(async () => {
          // Repairs the queue, in which another program may have changed BullMQ's keys.
          await jobs.statesOf([]);
          await addJob(place);
        });
      } catch (error) {
        throw new AutomateError('credential', `Redis does not accept the records of the run: ${(error as Error).message}`);
      }
    },
    async putAgain(place) {
      const id = jobId(place);
      const all = [later, ...['wait', 'active', 'stalled', id, `${id}:lock`].map(bullKey)];
      await redis.insist(() => client.eval(takeOutScript, all.length, ...all, id, dataOf(place)));
      await jobs.put(place);
    },
    async remove(place) {
      await queue.remove(jobId(place)).catch(() => undefined);
    },
    keysOf: (run) => bullKey(`${run}-*`),
    async putOff(place) {
      await redis.insist(() => client.eval(putOffScript, 1, later, dataOf(place), laterMs));
    },
    async putDue() {
      const due = (await client.eval(dueScript, 1, later, laterMs)) as string[];
      for (const text of due) {
        const place = readJsonAs(placeShape, text);
        if (place) await jobs.put(place);
      }
    },
    async statesOf(units) {
      const keys = [later, ...Object.keys(bullKeys).map(bullKey)];
      const types = ['zset', ...Object.values(bullKeys)].join(' ');
      const places = units.flatMap((unit) => [jobId(unit), dataOf(unit), unit.records]);
      return (await redis.insist(() => client.eval(unitStatesScript, keys.length, ...keys, bullKey(''), types, ...places))) as UnitState[];
    },
    counts: () => countsOf(client, bullKey, later),
    async close() {
      connection.disconnect();
      await queue.close().catch(() => undefined);
    },
  };
  return jobs;
}

async function countsOf(client: Redis, bullKey: (name: string) => string, later: string): ReturnType<UnitQueue['counts']> {
  const sizes = [client.llen(bullKey('wait')), client.llen(bullKey('active')), client.zcard(later)];
  // A key of a different type counts as empty. The coordinator of a run removes it.
  const [waiting = 0, active = 0, off = 0] = await Promise.all(sizes.map((size) => size.catch(ifForeign(0))));
  return { waiting: waiting + off, active };
}

/** Exactly as BullMQ stores the data. */
function dataOf({ run, unit }: UnitPlace): string {
  return JSON.stringify({ run, unit });
}

/** BullMQ does not allow integers or colons in ids. */
function jobId({ run, unit }: UnitPlace): string {
  return `${run}-${unit}`;
}

interface UnitTakerOptions {
  /** Maximum number of units that the consumer processes at a time. */
  readonly units: number;
  readonly leaseMs: number;
}

/** A consumer without a unit for this time is replaced if units wait. BullMQ's workers sometimes do not resume after Redis was away. */
const deafMs = 30_000;

/** `take` processes a unit and resolves to what happens to the unit next. */
export async function takeUnits(
  redis: QueueRedis,
  keys: QueueKeys,
  options: UnitTakerOptions,
  take: (place: UnitPlace) => Promise<UnitEnd>,
): Promise<UnitTaker> {
  return new UnitTaker(redis, await import('bullmq'), await openUnitQueue(redis, keys), { ...options, prefix: keys.prefix, take });
}

type BullMq = typeof import('bullmq');

/** Keeps each unit until it is done or goes back. */
class UnitTaker {
  readonly #redis: QueueRedis;
  readonly #bullmq: BullMq;
  readonly #queue: UnitQueue;
  readonly #options: UnitTakerOptions & { readonly prefix: string; take(place: UnitPlace): Promise<UnitEnd> };
  held = 0;
  readonly #watchdog: NodeJS.Timeout;
  #worker: Worker<UnitPlace>;
  #takenMs = performance.now();
  #isPaused = false;
  #isResting = false;

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

  /** Stops taking units permanently. Units that have already been taken are not affected. */
  pause(): void {
    this.#isPaused = true;
    void this.#worker.pause(true).catch(() => undefined);
  }

  /** While taking is stopped, the other workers get the units. */
  setTaking(isTaking: boolean): void {
    if (this.#isPaused || this.#isResting !== isTaking) return;
    this.#isResting = !isTaking;
    if (isTaking) this.#worker.resume();
    else void this.#worker.pause(true).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isPaused = true;
    clearInterval(this.#watchdog);
    // A unit whose processing has just ended may not be back in the queue yet, so `close` waits for such units.
    const untilMs = performance.now() + backMs;
    while (this.held > 0 && !this.#redis.isAway && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 10));
    await this.#worker.close(true).catch(() => undefined);
    await this.#queue.close();
  }

  #open(): Worker<UnitPlace> {
    const { prefix, units, leaseMs } = this.#options;
    const worker = new this.#bullmq.Worker<UnitPlace>(queueName, (job, token) => this.#hold(job, token), {
      ...{ connection: this.#redis.duplicate(), prefix, concurrency: units },
      ...{ lockDuration: leaseMs, stalledInterval: Math.round(leaseMs / 3), maxStalledCount: often, drainDelay: 2 },
      // BullMQ would renew locks by the wall clock, which may be set back by hours while a worker runs.
      skipLockRenewal: true,
      ...{ removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
    });
    worker.on('error', () => undefined);
    return worker;
  }

  async #hold(job: Job<UnitPlace>, token = ''): Promise<void> {
    this.held++;
    this.#takenMs = performance.now();
    const { leaseMs, take } = this.#options;
    const extend = () => (this.#redis.isAway ? undefined : job.extendLock(token, leaseMs).catch(() => undefined));
    const renewal = setInterval(extend, leaseMs / 4);
    try {
      const place = readAs(placeShape, job.data);
      // Another program has put the job into the queue, or has changed it. The coordinator puts the unit into the queue again.
      if (!place) return;
      const end = await take(place);
      if (end === 'later') await this.#queue.putOff(place);
      if (end !== 'back') return;
      await job.moveToWait(token);
      throw new this.#bullmq.WaitingError();
    } finally {
      clearInterval(renewal);
      this.held--;
    }
  }

  async #reopenIfDeaf(): Promise<void> {
    const cannotTake = () => this.#isPaused || this.#isResting || this.held > 0;
    if (cannotTake() || this.#redis.isAway || performance.now() - this.#takenMs < deafMs) return;
    const { waiting } = await this.#queue.counts().catch(() => ({ waiting: 0 }));
    this.#takenMs = performance.now();
    if (waiting === 0 || cannotTake()) return;
    void this.#worker.close(true).catch(() => undefined);
    this.#worker = this.#open();
  }
}
