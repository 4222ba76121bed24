import type { QueueRedis } from './connection.ts';
import type { QueueKeys } from './queue-keys.ts';

/** A reason for which a worker takes no record of a run. */
export interface RunProblem {
  readonly run: string;
  readonly problem: string;
  /** The names of the credentials that are missing; absent for another reason. */
  readonly credentials?: readonly string[] | undefined;
  /** True if no server answers the worker, or each refuses it. */
  readonly isUnable?: boolean | undefined;
}

/** A worker as it shows itself. It holds no value of a record. */
export interface WorkerSign {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly leaseMs: number;
  /** Units that it holds. */
  readonly units: number;
  /** Records that it has finished. */
  readonly records: number;
  readonly problems: readonly RunProblem[];
}

/** A sign, and the time since. */
export interface SeenWorker extends WorkerSign {
  /** The time of the sign by Redis' clock, in microseconds. */
  readonly atUs: number;
  readonly ageMs: number;
}

const signScript = `
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000000 + time[2]) .. ' ' .. ARGV[2])
return 1
`;

/** Shows a worker to runs and to `status`. */
export async function showWorker({ client }: QueueRedis, { workers }: QueueKeys, sign: WorkerSign): Promise<void> {
  await client.eval(signScript, 1, workers, sign.id, JSON.stringify(sign));
}

/** Removes a worker that has ended. */
export async function removeWorker({ client }: QueueRedis, { workers }: QueueKeys, id: string): Promise<void> {
  await client.hdel(workers, id);
}

/** The workers of a queue, also those that have died. */
export async function seenWorkers({ client }: QueueRedis, { workers }: QueueKeys): Promise<SeenWorker[]> {
  const [all, time] = await Promise.all([client.hgetall(workers), client.time()]);
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]);
  return Object.values(all).flatMap((text) => {
    const atUs = Number.parseInt(text, 10);
    const sign = signOf(text.slice(text.indexOf(' ') + 1));
    return sign ? [{ ...sign, atUs, ageMs: Math.max(0, (nowUs - atUs) / 1000) }] : [];
  });
}

/** Foreign text counts as no worker. */
function signOf(text: string): WorkerSign | undefined {
  try {
    const sign = JSON.parse(text) as WorkerSign;
    return typeof sign.id === 'string' && typeof sign.leaseMs === 'number' && Array.isArray(sign.problems) ? sign : undefined;
  } catch {
    return undefined;
  }
}

/** Silence that is noticed at a time counts for this long, at most: while Redis is away nobody can show itself. */
const maxStepMs = 2000;

/** Times the silence of others by a clock of this process, over the time in which Redis answers. */
export class Silences {
  readonly #now: () => number;
  readonly #known = new Map<string, { atUs: number; silentMs: number; seenMs: number }>();

  /** `now`: monotonic ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes the last sign of someone. Returns how long it has been silent, in ms. `ageMs`: the age of the sign, for someone who is new here. */
  note(id: string, atUs: number, ageMs: number): number {
    const now = this.#now();
    const known = this.#known.get(id);
    if (known?.atUs === atUs) known.silentMs += Math.min(maxStepMs, now - known.seenMs);
    const silentMs = known ? (known.atUs === atUs ? known.silentMs : 0) : ageMs;
    this.#known.set(id, { atUs, silentMs, seenMs: now });
    return silentMs;
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}
