import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import type { QueueRedis } from './connection.ts';
import { queuePrefix } from './queue-url.ts';
import type { Seal } from './seal.ts';

/** Maximum number of gates whose pauses this process follows. It is limited because records may contain any number of hosts. */
const maxKnownGates = 10_000;

type PauseListener = (gate: string, waitMs: number, isPaced: boolean) => void;

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
  readonly #seal: Pick<Seal, 'hash'>;
  readonly #now: () => number;
  readonly #client: Redis & GateCommands;
  readonly #prefix: string;
  readonly #process = randomUUID();
  /** Keyed by hash. Redis contains only the hashes. */
  readonly #names = new Map<string, string>();
  #listener: PauseListener | undefined;
  /** The usual time in ms between sending a command to Redis and receiving its reply. */
  #tripMs: number | undefined;

  /** `seal` hashes the names of gates, so that the keys in Redis do not reveal them. `now` returns monotonic ms. */
  constructor(redis: QueueRedis, queueName: string, seal: Pick<Seal, 'hash'>, now: () => number = () => performance.now()) {
    this.#redis = redis;
    this.#seal = seal;
    this.#now = now;
    this.#prefix = queuePrefix(queueName);
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
      pause: (waitMs, isPaced) => void this.#pause(hash, waitMs, isPaced),
    };
  }

  /** Includes pauses that began before the connection. Called only once. Throws an AutomateError (`credential`) if Redis forbids it. */
  async onPause(listener: PauseListener): Promise<void> {
    this.#listener = listener;
    const subscriber = this.#redis.duplicate();
    // Pauses may have begun while the connection was lost, so they are requested from Redis after each reconnection.
    subscriber.on('ready', () => {
      for (const hash of this.#names.keys()) this.#hearPause(hash);
    });
    subscriber.on('message', (_channel, payload) => {
      const [hash = '', waitMs = 0, refused] = payload.split(' ');
      this.#heard(hash, Number(waitMs), refused !== undefined);
    });
    await this.#redis.insist(() => subscriber.subscribe(this.#channel));
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

  /** The time that Redis took longer than usual. After a faster reply, the usual time drops at once; after a slower reply, it rises slowly. */
  #lateness(tripMs: number): number {
    const usualMs = this.#tripMs ?? tripMs;
    this.#tripMs = Math.min(tripMs, usualMs + (tripMs - usualMs) / 10);
    return Math.max(0, tripMs - usualMs);
  }

  /** Pauses a gate for all workers. If Redis is unreachable at first, the time until it is reachable is subtracted from the pause. */
  async #pause(hash: string, waitMs: number, isPaced?: boolean): Promise<void> {
    const untilMs = this.#now() + waitMs;
    const { client } = this.#redis;
    if (client.status !== 'ready') await new Promise<void>((resolve) => client.once('ready', resolve));
    const leftMs = Math.round(untilMs - this.#now());
    if (leftMs <= 0) return;
    const payload = `${hash} ${leftMs}${isPaced ? ' refused' : ''}`;
    await this.#redis.insist(() => this.#client.pauseGate(this.#keyOf(hash), this.#channel, leftMs, payload));
  }

  /** If there is a listener, asks Redis how long a gate is still paused and tells the listener. */
  #hearPause(hash: string): void {
    if (this.#listener)
      void this.#redis.insist(() => this.#client.pauseLeft(this.#keyOf(hash))).then((leftMs) => this.#heard(hash, leftMs, false));
  }

  #heard(hash: string, waitMs: number, isPaced: boolean): void {
    const gate = this.#names.get(hash);
    if (gate !== undefined && waitMs > 0) this.#listener?.(gate, waitMs, isPaced);
  }

  #keyOf(hash: string): string {
    return `${this.#prefix}:gate:${hash}`;
  }
}

// Lua scripts about gates (the rate limiters of APIs). Redis executes each of them atomically. Times are whole microseconds of Redis' clock,
// written without an exponent.

/**
 * Reads the clock and a gate. A gate is a hash with the fields `next` (the next start), `interval` (the interval before that start) and
 * `pausedUntil`. For each process, the field `rate:PROCESS` contains the process's interval and the time until which the interval counts.
 * If the key contains anything but a hash, it is deleted.
 */
const readGate = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
local gate = redis.call('HMGET', KEYS[1], 'next', 'interval', 'pausedUntil')
local next, lastInterval, pausedUntil = tonumber(gate[1]) or 0, tonumber(gate[2]) or 0, tonumber(gate[3]) or 0
local function whole(number) return string.format('%.0f', number) end
-- A gate is forgotten a minute after its last start or pause.
local function keep(untilUs) redis.call('PEXPIRE', KEYS[1], whole(math.max(0, untilUs - now) / 1000 + 60000)) end
`;

/**
 * Reserves request starts of a gate, at most 500 ms ahead. A worker that reserved more would keep the other workers waiting.
 * KEYS: gate.
 * ARGV: interval, number of starts, id of the process.
 * Returns the number of reserved starts, the time until the first one, and the interval in use. If several processes use different
 * intervals, the longest applies. A process's interval counts for a minute after its last reservation, or for twice the interval, whichever
 * is longer. If no start could be reserved, the returned time is the wait until the next attempt.
 */
const reserveScript = `${readGate}
local ahead = 500000
local interval = tonumber(ARGV[1])
local own = 'rate:' .. ARGV[3]
redis.call('HSET', KEYS[1], own, whole(interval) .. ' ' .. whole(now + math.max(60000000, 2 * interval)))
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  local name = fields[at]
  local other, untilUs = string.match(fields[at + 1], '^(%d+) (%d+)$')
  if string.sub(name, 1, 5) == 'rate:' then
    if other and tonumber(untilUs) >= now then interval = math.max(interval, tonumber(other)) else redis.call('HDEL', KEYS[1], name) end
  end
end
-- The start is earlier if a lower rate has ended.
local first = math.max(now, next - math.max(0, lastInterval - interval), pausedUntil)
local count = math.min(tonumber(ARGV[2]), math.max(1, math.floor(ahead / interval)))
if first - now > ahead then count = 0 end
if count > 0 then
  next = first + count * interval
  redis.call('HSET', KEYS[1], 'next', whole(next), 'interval', whole(interval))
end
keep(math.max(next, pausedUntil))
if count == 0 then first = first - ahead end
return {count, first - now, interval}
`;

/** Ends a process's rate at a gate, so the gate no longer follows it. KEYS: gate. ARGV: id of the process. */
const releaseScript = `
if redis.call('TYPE', KEYS[1]).ok == 'hash' then redis.call('HDEL', KEYS[1], 'rate:' .. ARGV[1]) end
`;

/**
 * Pauses a gate and notifies all workers. A pause that would end earlier does not shorten a longer one.
 * KEYS: gate.
 * ARGV: channel, duration in ms, text of the notification.
 */
const pauseScript = `${readGate}
pausedUntil = math.max(pausedUntil, now + tonumber(ARGV[2]) * 1000)
redis.call('HSET', KEYS[1], 'pausedUntil', whole(pausedUntil))
keep(math.max(next, pausedUntil))
redis.pcall('PUBLISH', ARGV[1], ARGV[3])
`;

/** Returns for how many ms a gate is still paused. KEYS: gate. */
const pauseLeftScript = `
local time = redis.call('TIME')
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end
local untilUs = tonumber(redis.call('HGET', KEYS[1], 'pausedUntil')) or 0
return math.max(0, math.ceil((untilUs - (time[1] * 1000000 + time[2])) / 1000))
`;
