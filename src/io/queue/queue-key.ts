import { AutomateError } from '../../core/failure.ts';
import { oneLine, readSecretFile } from '../credentials/environment.ts';

/** Minimum length of a queue key in characters. Shorter keys could be guessed. */
const minKeyLength = 16;

/** The secrets of a queue. The caller has to mask them in all output. */
export interface QueueSecrets {
  /** The key that encrypts the data in Redis; undefined if the data is not encrypted. */
  readonly key: string | undefined;
  /** The password for Redis; undefined if none is set. */
  readonly password: string | undefined;
}

/**
 * Reads a queue's secrets from environment variables, or from the files that environment variables name. Throws an AutomateError
 * (`credential`) if a secret cannot be read, is set twice, or is too short.
 */
export async function readQueueSecrets(environment: NodeJS.ProcessEnv): Promise<QueueSecrets> {
  const key = await readSecret('AUTOMATE_QUEUE_KEY', environment);
  if (key !== undefined && key.length < minKeyLength)
    throw new AutomateError('credential', `expected a queue key of at least ${minKeyLength} characters, found ${key.length}`);
  return { key, password: await readSecret('AUTOMATE_QUEUE_PASSWORD', environment) };
}

/**
 * Reads a secret from an environment variable, or from the file that `<variable>_FILE` names. An empty variable counts as unset. Throws an
 * AutomateError (`credential`) if both variables are set.
 */
async function readSecret(variable: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const text = environment[variable];
  const file = environment[`${variable}_FILE`];
  if (text && file) throw new AutomateError('credential', `expected ${variable} or ${variable}_FILE, found both`);
  if (text) return oneLine(text, variable);
  return file ? readSecretFile(file, `${variable}_FILE`) : undefined;
}
