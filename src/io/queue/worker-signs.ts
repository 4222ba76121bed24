import type { QueueRedis } from './connection.ts';
import type { QueueKeys } from './queue-keys.ts';

/** The reason why a worker cannot process the records of a run. */
export interface RunProblem {
  readonly run: string;
  readonly problem: string;
  /** Names of the credentials that the worker lacks. Empty if it has them but cannot use them; undefined if something else is the problem. */
  readonly credentials?: readonly string[] | undefined;
  /**
   * The reason for ending the run if all its workers have this problem: no server responds, the first records all fail in the same way, or
   * an unexpected error has ended the work. Undefined for other problems.
   */
  readonly ending?: 'unreachable' | 'same-failure' | 'no-workers' | undefined;
}

/** The status that a worker publishes in Redis. It contains no data from records. */
export interface WorkerSign {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly leaseMs: number;
  /** Number of units that the worker is processing. */
  readonly units: number;
  /** Number of records that the worker has finished. */
  readonly records: number;
  readonly problems: readonly RunProblem[];
}

/** The last status that a worker has published, and its age. */
export interface SeenWorker extends WorkerSign {
  /** Time at which the status was published, in microseconds of Redis' clock. */
  readonly atUs: number;
  readonly ageMs: number;
}

const signScript = `
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000000 + time[2]) .. ' ' .. ARGV[2])
return 1
`;

/** Publishes the status of a worker in Redis. Coordinators of runs and the `status` command read it. */
export async function showWorker({ client }: QueueRedis, { workers }: QueueKeys, sign: WorkerSign): Promise<void> {
  await client.eval(signScript, 1, workers, sign.id, JSON.stringify(sign));
}

/** Removes from Redis the status of a worker that has ended. */
export async function removeWorker({ client }: QueueRedis, { workers }: QueueKeys, id: string): Promise<void> {
  await client.hdel(workers, id);
}

/** Returns the last status of each worker of a queue, including workers that have died. */
export async function seenWorkers({ client }: QueueRedis, { workers }: QueueKeys): Promise<SeenWorker[]> {
  const [all, time] = await Promise.all([client.hgetall(workers), client.time()]);
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]);
  return Object.values(all).flatMap((text) => {
    const atUs = Number.parseInt(text, 10);
    const sign = signOf(text.slice(text.indexOf(' ') + 1));
    return sign ? [{ ...sign, atUs, ageMs: Math.max(0, (nowUs - atUs) / 1000) }] : [];
  });
}

/** Parses the status that a worker has published. Returns undefined if the text is not a status. */
function signOf(text: string): WorkerSign | undefined {
  try {
    const sign = JSON.parse(text) as WorkerSign;
    return typeof sign.id === 'string' && typeof sign.leaseMs === 'number' && Array.isArray(sign.problems) ? sign : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Maximum time in ms that one observation adds to the time for which a process has been silent. Without this limit, a process would seem
 * silent while Redis is unreachable and no process can report its status.
 */
const maxStepMs = 2000;

/** Measures for how long other processes have been silent while Redis was reachable. Uses only the clock of this process. */
export class Silences {
  readonly #now: () => number;
  readonly #known = new Map<string, { atUs: number; silentMs: number; seenMs: number }>();

  /** `now` returns the current time in monotonic ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Notes the timestamp of another process's last status. Returns for how many ms that process has been silent. For a process that was
   * unknown until now, this is `ageMs`, the age of the status.
   */
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
