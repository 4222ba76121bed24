import { AutomateError } from '../../core/failure.ts';
import { oneLine, readSecretFile } from '../credentials/environment.ts';

/** A shorter key could be guessed. In characters. */
const minKeyLength = 16;

/** The secrets of a queue. The caller hides them in everything that it prints. */
export interface QueueSecrets {
  /** Seals what lies in Redis; undefined if it is not sealed. */
  readonly key: string | undefined;
  /** Undefined for a Redis without a password. */
  readonly password: string | undefined;
}

/** Reads the secrets of a queue from variables, or from files that variables name. Throws an AutomateError (`credential`). */
export async function readQueueSecrets(environment: NodeJS.ProcessEnv): Promise<QueueSecrets> {
  const key = await readSecret('AUTOMATE_QUEUE_KEY', environment);
  if (key !== undefined && key.length < minKeyLength)
    throw new AutomateError('credential', `expected a queue key of at least ${minKeyLength} characters, found ${key.length}`);
  return { key, password: await readSecret('AUTOMATE_QUEUE_PASSWORD', environment) };
}

/** An empty variable counts as not set. */
async function readSecret(variable: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const text = environment[variable];
  const file = environment[`${variable}_FILE`];
  if (text && file) throw new AutomateError('credential', `expected ${variable} or ${variable}_FILE, found both`);
  if (text) return oneLine(text, variable);
  return file ? readSecretFile(file, `${variable}_FILE`) : undefined;
}
