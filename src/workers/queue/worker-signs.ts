import * as z from 'zod';
import { ifForeign, type QueueRedis } from './connection.ts';
import type { QueueKeys } from './queue-keys.ts';
import { readAs, readJsonAs } from './queue-message.ts';
import { isForeign } from './run-scripts.ts';
import type { Seal } from './seal.ts';

/** Texts for readers that cannot unseal the reason itself. */
const problemTexts = {
  version: 'it needs a different version of automate',
  key: "its queue key is not the same as this worker's; set AUTOMATE_QUEUE_KEY to the same key everywhere",
  unreadable: 'its data in Redis cannot be read',
  silent: 'its coordinator does not answer',
  flow: 'its flow cannot be used',
  credential: 'a credential cannot be used',
  unreachable: 'no server responds',
  'same-failure': 'the first records all failed in the same way',
  disk: "temporary files cannot be written (shown in the worker's output)",
  error: "an unexpected error (shown in the worker's output)",
};

type ProblemCode = keyof typeof problemTexts;

export type RunProblem = { readonly run: string; readonly code: ProblemCode } & Readonly<z.output<typeof detailShape>>;

export type WorkerSign = Omit<Readonly<z.output<typeof signShape>>, 'problems'> & { readonly problems: readonly RunProblem[] };

export interface SeenWorker extends WorkerSign {
  /** Time at which the status was published, in microseconds of Redis' clock. */
  readonly atUs: number;
  readonly ageMs: number;
}

const whole = z.int().nonnegative();

/** A status in Redis. It is not encrypted, so it has only the code of a problem: the problem's text may contain a value of a record. */
const signShape = z.object({
  id: z.string(),
  host: z.string(),
  pid: whole,
  version: z.string(),
  leaseMs: z.number().positive(),
  units: whole,
  records: whole,
  problems: z.array(z.object({ run: z.string(), code: z.enum(Object.keys(problemTexts) as ProblemCode[]), sealed: z.base64() })),
});

const detailShape = z.object({
  problem: z.string(),
  /** Names of the credentials that the worker lacks. Empty if it has them but cannot use them; undefined if something else is the problem. */
  credentials: z.array(z.string()).optional(),
  /**
   * The reason for ending the run if all its workers have this problem: no server responds, the first records all fail in the same way, or
   * an unexpected error has ended the work. Undefined for other problems.
   */
  ending: z.enum(['unreachable', 'same-failure', 'no-workers']).optional(),
});

const signScript = `${isForeign}
if isForeign(KEYS[1], 'hash') then redis.call('DEL', KEYS[1]) end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000000 + time[2]) .. ' ' .. ARGV[2])
return 1
`;

interface SignParts {
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
}

/** Coordinators of runs and the `status` command read the status. */
export async function showWorker({ redis, keys, seal }: SignParts, sign: WorkerSign): Promise<void> {
  const problems = sign.problems.map(({ run, code, ...detail }) => ({
    ...{ run, code },
    sealed: seal.seal(JSON.stringify(detail), problemContext(sign.id, run)).toString('base64'),
  }));
  await redis.client.eval(signScript, 1, keys.workers, sign.id, JSON.stringify({ ...sign, problems }));
}

export async function removeWorker({ client }: QueueRedis, { workers }: QueueKeys, id: string): Promise<void> {
  await client.hdel(workers, id);
}

/** Includes workers that have died. Leaves out what is not a worker's status, and calls `unreadable` with its name. */
export async function seenWorkers({ redis, keys, seal }: SignParts, unreadable: (id: string) => void): Promise<SeenWorker[]> {
  const { client } = redis;
  const [all, time] = await Promise.all([client.hgetall(keys.workers).catch(ifForeign<Record<string, string>>({})), client.time()]);
  const nowUs = Number(time[0]) * 1e6 + Number(time[1]);
  return Object.entries(all).flatMap(([id, text]) => {
    const atUs = Number.parseInt(text, 10);
    const sign = readJsonAs(signShape, text.slice(text.indexOf(' ') + 1));
    if (!sign || sign.id !== id || !Number.isFinite(atUs)) {
      unreadable(id);
      return [];
    }
    const problems = sign.problems.map(({ run, code, sealed }): RunProblem => {
      const detail = readAs(detailShape, seal.unsealValue(Buffer.from(sealed, 'base64'), problemContext(id, run)));
      return { run, code, problem: problemTexts[code], ...detail };
    });
    return [{ ...sign, problems, atUs, ageMs: Math.max(0, (nowUs - atUs) / 1000) }];
  });
}

function problemContext(worker: string, run: string): string {
  return `${run} problem of ${worker}`;
}

/** The most that one observation adds to a silence. Otherwise, processes would seem silent while Redis is unreachable. */
const maxStepMs = 2000;

/** Measures silence while Redis was reachable. Uses only the clock of this process. */
export class Silences {
  readonly #now: () => number;
  readonly #known = new Map<string, { atUs: number; silentMs: number; seenMs: number }>();

  /** `now` returns monotonic ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns for how many ms the process has been silent. For an unknown process, this is `ageMs`, the age of the status. */
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
