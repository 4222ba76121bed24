import { AutomateError } from '../../core/failure.ts';
import { checkedSecret, readSecretFile } from '../../credentials/environment.ts';
import { queuePrefix } from './queue-url.ts';

/** Time in seconds after which Redis deletes the keys of a run that its coordinator has not removed. */
export const keptSeconds = 7 * 24 * 3600;

/** In a Redis cluster, all keys of a queue belong to the same slot. */
export interface QueueKeys {
  /** The prefix of the keys that BullMQ uses for the queue. */
  readonly prefix: string;
  readonly runs: string;
  /** Key of the hash that contains the last status of each worker, keyed by worker id. */
  readonly workers: string;
  /** Key of the sorted set with the units that are put off, by the time of Redis' clock in ms until which they wait. */
  readonly later: string;
  run(run: string): RunKeys;
  worker(id: string): string;
}

/** A unit is identified by its generation and its number. */
export interface RunKeys {
  /** Key of the hash with the run's version, flow, times, counts and sealed state. */
  readonly run: string;
  readonly manifest: string;
  readonly results: string;
  readonly more: string;
  records(unit: string): string;
}

/** A UUID, which begins with `run_` for a run of a server. */
export function isRunId(found: unknown): found is string {
  return typeof found === 'string' && /^(?:run_)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(found);
}

export function queueKeys(queueName: string): QueueKeys {
  const prefix = queuePrefix(queueName);
  return {
    prefix,
    runs: `${prefix}:runs`,
    workers: `${prefix}:workers`,
    later: `${prefix}:later`,
    worker: (id) => `${prefix}:worker:${id}`,
    run(run) {
      const key = `${prefix}:run:${run}`;
      return {
        run: key,
        manifest: `${key}:manifest`,
        results: `${key}:results`,
        more: `${key}:more`,
        records: (unit) => `${key}:in:${unit}`,
      };
    },
  };
}

/** In characters. Shorter keys could be guessed. */
const minKeyLength = 16;

const wayOut = `make one: openssl rand -base64 24
set AUTOMATE_QUEUE_KEY to it for every run, worker and server of the queue, or AUTOMATE_QUEUE_KEY_FILE to the name of a file with it`;

/**
 * Reads a queue's secrets from environment variables, or from the files that environment variables name. The caller has to mask them in all
 * output. The key encrypts the data in Redis, and proves that work for the queue's workers comes from somebody who may give it. Throws an
 * AutomateError (`credential`) if a secret cannot be read or is set twice, or if the queue key is missing or could be guessed.
 */
export async function readQueueSecrets(environment: NodeJS.ProcessEnv) {
  const key = await readSecret('AUTOMATE_QUEUE_KEY', environment);
  const fault =
    key === undefined
      ? 'there is no queue key, which encrypts the records in Redis and keeps others from using your workers'
      : faultOfKey(key);
  if (key === undefined || fault !== undefined) throw new AutomateError('credential', `${fault}\n${wayOut}`);
  return { key, password: await readSecret('AUTOMATE_QUEUE_PASSWORD', environment) };
}

/** Returns the reason why a queue key could be guessed; undefined if it is good enough. */
function faultOfKey(key: string): string | undefined {
  const characters = [...key];
  if (characters.length < minKeyLength) return `expected a queue key of at least ${minKeyLength} characters, found ${characters.length}`;
  return new Set(characters).size === 1 ? 'expected a random queue key, found one character repeated' : undefined;
}

/** May be in the file that `<variable>_FILE` names. Empty ones count as unset. Throws an AutomateError (`credential`) if both are set. */
async function readSecret(variable: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const text = environment[variable];
  const file = environment[`${variable}_FILE`];
  if (text && file) throw new AutomateError('credential', `expected ${variable} or ${variable}_FILE, found both`);
  if (text) return checkedSecret(text, variable);
  return file ? readSecretFile(file, `${variable}_FILE`) : undefined;
}
