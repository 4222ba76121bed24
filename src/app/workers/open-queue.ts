import { readFile } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { systemReason } from '../../io/files/naming-errors.ts';
import { openRedis, type QueueRedis } from '../../io/queue/connection.ts';
import { RedisGates } from '../../io/queue/gates.ts';
import { readQueueSecrets } from '../../io/queue/queue-key.ts';
import { type QueueKeys, queueKeys } from '../../io/queue/queue-keys.ts';
import { formatQueueUrl, parseQueueName, parseQueueUrl } from '../../io/queue/queue-url.ts';
import { createSeal, type Seal } from '../../io/queue/seal.ts';
import { openUnitQueue, type UnitQueue } from '../../io/queue/unit-jobs.ts';
import type { Messages } from '../messages.ts';

/** The options that select a queue in Redis. */
export interface QueueOptions {
  /** The URL of the queue's Redis server. */
  readonly queue: string;
  /** The queue's name; undefined for `default`. */
  readonly queueName?: string | undefined;
  /** A file with certificate authorities to trust besides the default ones. */
  readonly cacert?: string | undefined;
}

/** An open queue: its connections to Redis, and the objects that its runs and workers share. */
export interface OpenQueue {
  /** The URL of the queue's Redis server, without the password. */
  readonly url: string;
  readonly name: string;
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
  readonly jobs: UnitQueue;
  readonly gates: RedisGates;
  /** Returns a monotonic time in ms. */
  now(): number;
  close(): Promise<void>;
}

/** Interval in ms between log lines while Redis cannot be reached. */
const sayEveryMs = 10_000;

/**
 * Opens a queue. Throws an AutomateError: `usage` if the URL is wrong, `credential` if Redis cannot be reached, rejects the password, or is
 * not secured.
 */
export async function openQueue({ queue, queueName, cacert }: QueueOptions, { redactor, warn }: Messages): Promise<OpenQueue> {
  const address = parseQueueUrl(queue);
  const name = parseQueueName(queueName);
  const { key, password } = await readQueueSecrets(process.env);
  for (const secret of [key, password]) if (secret !== undefined) redactor.add(secret);
  const authorities = cacert === undefined ? undefined : await readAuthorities(cacert);
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

/**
 * Logs every 10 s that Redis cannot be reached, and logs once when it can be reached again. Returns a function that stops these log lines.
 */
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

/** Reads a file with certificate authorities. Throws an AutomateError (`usage`) if the file cannot be read. */
async function readAuthorities(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AutomateError('usage', `${file} cannot be read: ${systemReason(error as Error)}`);
  }
}
