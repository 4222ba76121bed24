import { AutomateError } from '../../core/failure.ts';
import { oneLine, readSecretFile } from '../../credentials/environment.ts';

/** In characters. Shorter keys could be guessed. */
const minKeyLength = 16;

const wayOut = `make one: openssl rand -base64 24
set AUTOMATE_QUEUE_KEY to it for every run, worker and server of the queue, or AUTOMATE_QUEUE_KEY_FILE to the name of a file with it`;

/** The caller has to mask these in all output. */
interface QueueSecrets {
  /** The key that encrypts the data in Redis, and proves that work for the queue's workers comes from somebody who may give it. */
  readonly key: string;
  readonly password: string | undefined;
}

/**
 * Reads a queue's secrets from environment variables, or from the files that environment variables name. Throws an AutomateError
 * (`credential`) if a secret cannot be read or is set twice, or if the queue key is missing or could be guessed.
 */
export async function readQueueSecrets(environment: NodeJS.ProcessEnv): Promise<QueueSecrets> {
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

/**
 * May be in the file that `<variable>_FILE` names. Empty variables count as unset. Throws an AutomateError (`credential`) if both are set.
 */
async function readSecret(variable: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const text = environment[variable];
  const file = environment[`${variable}_FILE`];
  if (text && file) throw new AutomateError('credential', `expected ${variable} or ${variable}_FILE, found both`);
  if (text) return oneLine(text, variable);
  return file ? readSecretFile(file, `${variable}_FILE`) : undefined;
}
