import { readFile } from 'node:fs/promises';
import { openRedis, type QueueRedis } from '../../io/queue/connection.ts';
import { RedisGates } from '../../io/queue/gates.ts';
import { readQueueSecrets } from '../../io/queue/queue-key.ts';
import { type QueueKeys, queueKeys } from '../../io/queue/queue-keys.ts';
import { formatQueueUrl, parseQueueName, parseQueueUrl } from '../../io/queue/queue-url.ts';
import { createSeal, type Seal } from '../../io/queue/seal.ts';
import { openUnitQueue, type UnitQueue } from '../../io/queue/unit-jobs.ts';
import type { Messages } from '../messages.ts';

/** A queue, as its user names it. */
export interface QueueOptions {
  /** Its URL. */
  readonly queue: string;
  /** Undefined for `default`. */
  readonly queueName?: string | undefined;
  /** A file with certificate authorities to trust besides the default ones. */
  readonly cacert?: string | undefined;
}

/** An open queue: its connections, and what its runs and workers share. */
export interface OpenQueue {
  /** Its URL, without a secret. */
  readonly url: string;
  readonly name: string;
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
  readonly jobs: UnitQueue;
  readonly gates: RedisGates;
  /** Monotonic ms. */
  now(): number;
  close(): Promise<void>;
}

/** While Redis is away, a line says so this often. */
const sayEveryMs = 10_000;

/**
 * Opens a queue. Throws an AutomateError (`usage`) for a wrong URL, and one (`credential`) if Redis cannot be reached, refuses the password, or is
 * not safe.
 */
export async function openQueue({ queue, queueName, cacert }: QueueOptions, { redactor, warn }: Messages): Promise<OpenQueue> {
  const address = parseQueueUrl(queue);
  const name = parseQueueName(queueName);
  const { key, password } = await readQueueSecrets(process.env);
  for (const secret of [key, password]) if (secret !== undefined) redactor.add(secret);
  const authorities = cacert === undefined ? undefined : await readFile(cacert, 'utf8');
  const redis = await openRedis(address, { password, cacert: authorities, isSealed: key !== undefined }, warn);
  const url = formatQueueUrl(address);
  const stopSaying = sayWhenAway(redis, url, warn);
  const seal = createSeal(key, name);
  const keys = queueKeys(name);
  const jobs = await openUnitQueue(redis, keys.prefix);
  return {
    ...{ url, name, redis, keys, seal, jobs, gates: new RedisGates(redis, name, seal), now: () => performance.now() },
    async close() {
      stopSaying();
      await jobs.close();
      await redis.close();
    },
  };
}

/** Says every 10 s that Redis is away, and that it is back. Returns the end of it. */
function sayWhenAway(redis: QueueRedis, url: string, warn: (text: string) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const say = () => warn(`${url} cannot be reached; waiting for it`);
  redis.onAway((isAway) => {
    clearInterval(timer);
    if (isAway) timer = setInterval(say, sayEveryMs);
    if (isAway) say();
    else warn(`${url} can be reached again`);
  });
  return () => clearInterval(timer);
}
