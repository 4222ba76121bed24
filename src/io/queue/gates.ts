import type { Redis } from 'ioredis';
import { AutomateError } from '../../core/failure.ts';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import type { QueueRedis } from './connection.ts';
import { queuePrefix } from './queue-url.ts';
import { pauseLeftScript, pauseScript, reserveScript } from './scripts.ts';
import type { Seal } from './seal.ts';

/** Gates whose pauses are heard: records can name any number of hosts. */
const maxKnownGates = 10_000;

/** Takes the pause of a gate. */
export type PauseListener = (gate: string, waitMs: number) => void;

/** The commands that the scripts define. */
interface GateCommands {
  reserveStarts(gate: string, intervalUs: number, count: number): Promise<[count: number, inUs: number, intervalUs: number]>;
  pauseGate(gate: string, channel: string, waitMs: number, payload: string): Promise<unknown>;
  pauseLeft(gate: string): Promise<number>;
}

/**
 * The gates that all workers of a queue share, by Redis' clock. Each start is reserved once, one interval after the one before; the lowest
 * rate that was asked counts until a minute passes without a start. While Redis is away nothing is reserved.
 */
export class RedisGates {
  readonly #redis: QueueRedis;
  readonly #client: Redis & GateCommands;
  readonly #prefix: string;
  readonly #seal: Pick<Seal, 'hash'>;
  readonly #now: () => number;
  /** The names of the gates by their hashes. */
  readonly #names = new Map<string, string>();
  #listener: PauseListener | undefined;
  /** The time that a trip to Redis usually takes. */
  #tripMs: number | undefined;

  /** `seal`: hides the names of gates in keys. `now`: monotonic ms. */
  constructor(redis: QueueRedis, queueName: string, seal: Pick<Seal, 'hash'>, now = () => performance.now()) {
    this.#redis = redis;
    this.#now = now;
    this.#prefix = queuePrefix(queueName);
    this.#seal = seal;
    redis.client.defineCommand('reserveStarts', { numberOfKeys: 1, lua: reserveScript });
    redis.client.defineCommand('pauseGate', { numberOfKeys: 1, lua: pauseScript });
    redis.client.defineCommand('pauseLeft', { numberOfKeys: 1, lua: pauseLeftScript });
    this.#client = redis.client as Redis & GateCommands;
  }

  /** The starts at a gate. */
  permitsOf(gate: string): Permits {
    const hash = this.#seal.hash(gate);
    if (this.#names.size >= maxKnownGates) this.#names.delete(this.#names.keys().next().value as string);
    this.#names.set(hash, gate);
    this.#hearPause(hash);
    return {
      reserve: (intervalMs, count) => this.#reserve(hash, intervalMs, count),
      pause: (waitMs) => void this.#pause(hash, waitMs),
    };
  }

  /**
   * Calls the listener for each pause of a gate here, also for one that began before, or while Redis was away. Called once. Resolves when it
   * listens. Throws an AutomateError (`credential`) if Redis forbids it.
   */
  async onPause(listener: PauseListener): Promise<void> {
    this.#listener = listener;
    const subscriber = this.#redis.duplicate();
    // Each new connection asks for the pauses that it has missed.
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
        throw new AutomateError('credential', `Redis forbids to listen to ${this.#channel}: ${error.message}`);
      });
  }

  get #channel(): string {
    return `${this.#prefix}:paused`;
  }

  async #reserve(hash: string, asked: number, count: number): Promise<ReservedStarts> {
    const sentMs = this.#now();
    const intervalUs = Math.max(1, Math.round(asked * 1000));
    const reserved = await this.#redis.insist(() => this.#client.reserveStarts(this.#keyOf(hash), intervalUs, count));
    const lateMs = this.#lateness(this.#now() - sentMs);
    const [reservedCount, inUs, slowestUs] = reserved;
    const intervalMs = slowestUs / 1000;
    // Counted from the arrival of a usual answer: the gate gives up starts of a late one.
    return { count: reservedCount, inMs: reservedCount > 0 ? inUs / 1000 - lateMs : inUs / 1000, intervalMs };
  }

  /** The ms that a trip has taken more than usual. What is usual falls at once, and rises slowly. */
  #lateness(tripMs: number): number {
    const usualMs = this.#tripMs ?? tripMs;
    this.#tripMs = Math.min(tripMs, usualMs + (tripMs - usualMs) / 10);
    return Math.max(0, tripMs - usualMs);
  }

  /** Pauses a gate for all. A pause that has to wait for Redis is shorter by that time. */
  async #pause(hash: string, waitMs: number): Promise<void> {
    const untilMs = this.#now() + waitMs;
    const { client } = this.#redis;
    if (client.status !== 'ready') await new Promise<void>((resolve) => client.once('ready', resolve));
    const leftMs = Math.round(untilMs - this.#now());
    if (leftMs <= 0) return;
    await this.#redis.insist(() => this.#client.pauseGate(this.#keyOf(hash), this.#channel, leftMs, `${hash} ${leftMs}`));
  }

  /** Asks whether a gate is paused, if someone listens. */
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
