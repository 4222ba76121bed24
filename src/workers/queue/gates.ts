import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { AutomateError } from '../../core/failure.ts';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import type { QueueRedis } from './connection.ts';
import { queuePrefix } from './queue-url.ts';
import { pauseLeftScript, pauseScript, releaseScript, reserveScript } from './scripts.ts';
import type { Seal } from './seal.ts';

/** Maximum number of gates whose pauses this process follows. It is limited because records may contain any number of hosts. */
const maxKnownGates = 10_000;

type PauseListener = (gate: string, waitMs: number) => void;

interface GateCommands {
  reserveStarts(
    gate: string,
    intervalUs: number,
    count: number,
    process: string,
  ): Promise<[count: number, inUs: number, intervalUs: number]>;
  releaseRate(gate: string, process: string): Promise<unknown>;
  pauseGate(gate: string, channel: string, waitMs: number, payload: string): Promise<unknown>;
  pauseLeft(gate: string): Promise<number>;
}

/**
 * The gates (the rate limiters of APIs) that all workers of a queue share. The gates use Redis' clock, and reserve each request start one
 * interval after the previous one. If several processes request different rates for a gate, the lowest rate applies. A process's rate
 * applies until the process releases it, or for a minute after the process has died. While Redis is unreachable, no starts are reserved.
 */
export class RedisGates {
  readonly #redis: QueueRedis;
  readonly #client: Redis & GateCommands;
  readonly #prefix: string;
  readonly #seal: Pick<Seal, 'hash'>;
  readonly #now: () => number;
  readonly #process = randomUUID();
  /** Keyed by hash. Redis contains only the hashes. */
  readonly #names = new Map<string, string>();
  #listener: PauseListener | undefined;
  /** The usual time in ms between sending a command to Redis and receiving its reply. */
  #tripMs: number | undefined;

  /** `seal` hashes the names of gates, so that the keys in Redis do not reveal them. `now` returns monotonic ms. */
  constructor(redis: QueueRedis, queueName: string, seal: Pick<Seal, 'hash'>, now = () => performance.now()) {
    this.#redis = redis;
    this.#now = now;
    this.#prefix = queuePrefix(queueName);
    this.#seal = seal;
    redis.client.defineCommand('reserveStarts', { numberOfKeys: 1, lua: reserveScript });
    redis.client.defineCommand('releaseRate', { numberOfKeys: 1, lua: releaseScript });
    redis.client.defineCommand('pauseGate', { numberOfKeys: 1, lua: pauseScript });
    redis.client.defineCommand('pauseLeft', { numberOfKeys: 1, lua: pauseLeftScript });
    this.#client = redis.client as Redis & GateCommands;
  }

  /** Reserves request starts, and pauses the gate for all workers. */
  permitsOf(gate: string): Permits {
    const hash = this.#seal.hash(gate);
    if (this.#names.size >= maxKnownGates) this.#names.delete(this.#names.keys().next().value as string);
    this.#names.set(hash, gate);
    this.#hearPause(hash);
    return {
      reserve: (intervalMs, count) => this.#reserve(hash, intervalMs, count),
      release: () => void this.#redis.insist(() => this.#client.releaseRate(this.#keyOf(hash), this.#process)),
      pause: (waitMs) => void this.#pause(hash, waitMs),
    };
  }

  /**
   * Includes pauses that began before the connection. May be called only once. Throws an AutomateError (`credential`) if Redis forbids it.
   */
  async onPause(listener: PauseListener): Promise<void> {
    this.#listener = listener;
    const subscriber = this.#redis.duplicate();
    // Pauses may have begun while the connection was lost, so they are requested from Redis after each reconnection.
    subscriber.on('ready', () => {
      for (const hash of this.#names.keys()) this.#hearPause(hash);
    });
    subscriber.on('message', (_channel, payload) => {
      const [hash = '', waitMs = 0] = payload.split(' ');
      this.#heard(hash, Number(waitMs));
    });
    await this.#redis
      .insist(() => subscriber.subscribe(this.#channel))
      .catch((error: Error) => {
        throw new AutomateError('credential', `Redis does not allow subscribing to ${this.#channel}: ${error.message}`);
      });
  }

  get #channel(): string {
    return `${this.#prefix}:paused`;
  }

  async #reserve(hash: string, asked: number, count: number): Promise<ReservedStarts> {
    const sentMs = this.#now();
    const intervalUs = Math.max(1, Math.round(asked * 1000));
    const reserved = await this.#redis.insist(() => this.#client.reserveStarts(this.#keyOf(hash), intervalUs, count, this.#process));
    const lateMs = this.#lateness(this.#now() - sentMs);
    const [reservedCount, inUs, slowestUs] = reserved;
    const intervalMs = slowestUs / 1000;
    // `inMs` counts from the time at which a reply usually arrives. If a reply is late, some of its starts are already in the past, and the
    // gate drops them.
    return { count: reservedCount, inMs: reservedCount > 0 ? inUs / 1000 - lateMs : inUs / 1000, intervalMs };
  }

  /** How much longer than usual Redis took. After a faster reply, the usual time drops at once; after a slower reply, it rises slowly. */
  #lateness(tripMs: number): number {
    const usualMs = this.#tripMs ?? tripMs;
    this.#tripMs = Math.min(tripMs, usualMs + (tripMs - usualMs) / 10);
    return Math.max(0, tripMs - usualMs);
  }

  /** Pauses a gate for all workers. If Redis is unreachable at first, the time until it is reachable is subtracted from the pause. */
  async #pause(hash: string, waitMs: number): Promise<void> {
    const untilMs = this.#now() + waitMs;
    const { client } = this.#redis;
    if (client.status !== 'ready') await new Promise<void>((resolve) => client.once('ready', resolve));
    const leftMs = Math.round(untilMs - this.#now());
    if (leftMs <= 0) return;
    await this.#redis.insist(() => this.#client.pauseGate(this.#keyOf(hash), this.#channel, leftMs, `${hash} ${leftMs}`));
  }

  /** If there is a listener, asks Redis how long a gate is still paused and tells the listener. */
  #hearPause(hash: string): void {
    if (this.#listener)
      void this.#redis.insist(() => this.#client.pauseLeft(this.#keyOf(hash))).then((leftMs) => this.#heard(hash, leftMs));
  }

  #heard(hash: string, waitMs: number): void {
    const gate = this.#names.get(hash);
    if (gate !== undefined && waitMs > 0) this.#listener?.(gate, waitMs);
  }

  #keyOf(hash: string): string {
    return `${this.#prefix}:gate:${hash}`;
  }
}
