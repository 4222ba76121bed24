import { readFile } from 'node:fs/promises';
import { usageError } from '../core/failure.ts';
import type { Messages } from '../credentials/messages.ts';
import { systemReason } from '../files/naming-errors.ts';
import { openRedis, type QueueRedis } from './queue/connection.ts';
import { RedisGates } from './queue/gates.ts';
import { type QueueKeys, queueKeys, readQueueSecrets } from './queue/queue-keys.ts';
import { formatQueueUrl, parseQueueName, parseQueueUrl } from './queue/queue-url.ts';
import { createSeal, type Seal } from './queue/seal.ts';
import { openUnitQueue, type UnitQueue } from './queue/unit-jobs.ts';

export interface QueueOptions {
  readonly queue: string;
  /** Undefined for `default`. */
  readonly queueName?: string;
  /** A file with certificate authorities to trust besides the default ones. */
  readonly cacert?: string;
}

export interface OpenQueue {
  /** The URL of the queue's Redis server, without the password. */
  readonly url: string;
  readonly name: string;
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
  readonly jobs: UnitQueue;
  readonly gates: RedisGates;
  /** Monotonic time in ms. */
  now(): number;
  close(): Promise<void>;
}

/** Interval in ms between log lines while Redis cannot be used. */
const sayEveryMs = 10_000;

/**
 * Opens a queue. Throws an AutomateError: `usage` if the URL is wrong, `credential` if there is no good queue key, or if Redis cannot be
 * reached, rejects the password, or is not secured.
 */
export async function openQueue({ queue, queueName, cacert }: QueueOptions, { redactor, warn }: Messages): Promise<OpenQueue> {
  const address = parseQueueUrl(queue);
  const name = parseQueueName(queueName);
  const { key, password } = await readQueueSecrets(process.env);
  for (const secret of [key, password]) if (secret !== undefined) redactor.add(secret);
  const authorities = cacert === undefined ? undefined : await readAuthorities(cacert);
  const redis = await openRedis(address, { password, cacert: authorities }, warn);
  const url = formatQueueUrl(address);
  const stopSaying = sayTroubles(redis, url, warn);
  const seal = createSeal(key, name);
  const keys = queueKeys(name);
  const jobs = await openUnitQueue(redis, keys);
  return {
    ...{ url, name, redis, keys, seal, jobs, gates: new RedisGates(redis, name, seal), now: () => performance.now() },
    async close() {
      stopSaying();
      await jobs.close();
      await redis.close();
    },
  };
}

/** Logs every 10 s while Redis cannot be used, and once when this has ended. Returns a function that stops the log lines. */
function sayTroubles(redis: QueueRedis, url: string, warn: (text: string) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let ended = '';
  redis.onTrouble((trouble) => {
    clearInterval(timer);
    if (!trouble) return warn(`${url} ${ended}`);
    ended = trouble.kind === 'away' ? 'can be reached again' : 'accepts commands again';
    // Redis appends the name of the script to its message.
    const what = trouble.kind === 'away' ? 'cannot be reached' : `refuses commands: ${trouble.message.replace(/\.? script: .*/s, '')}`;
    const say = () => warn(`${url} ${what}; waiting for it`);
    timer = setInterval(say, sayEveryMs);
    say();
  });
  return () => clearInterval(timer);
}

/** Throws an AutomateError (`usage`) if the file cannot be read. */
async function readAuthorities(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw usageError(`${file} cannot be read: ${systemReason(error as Error)}`);
  }
}
