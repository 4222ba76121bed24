import { join } from 'node:path';
import { homeFolder } from '../files/home.ts';
import { createStateFile, type StateFile } from '../files/state-file.ts';
import { backendNames } from './backend.ts';
import type { StoredCredential } from './secret.ts';

interface ListFile {
  readonly version: 1;
  readonly credentials: readonly StoredCredential[];
}

/** The file with the names and settings of the credentials of all environments. It does not contain their secrets. */
export class CredentialList {
  readonly #file: StateFile<ListFile>;
  /** Runs a function under a lock that keeps other processes from changing the list or the secrets. */
  readonly alone: StateFile<ListFile>['alone'];

  /** Reads nothing yet. `home` is undefined for a user without a home folder, for whom nothing can be stored. */
  constructor(home: string | undefined) {
    this.#file = home === undefined ? fileOfNobody() : createStateFile(join(home, 'credentials.json'), isList);
    this.alone = this.#file.alone;
  }

  /** Throws an AutomateError (`credential`) if the list cannot be read. */
  all(): readonly StoredCredential[] {
    return this.#file.read()?.credentials ?? [];
  }

  find(name: string, env: string): StoredCredential | undefined {
    return this.all().find((credential) => credential.name === name && credential.env === env);
  }

  /** Replaces any credential with the same name and environment. */
  async put(credential: StoredCredential): Promise<void> {
    await this.#write([...this.#others(credential.name, credential.env), credential].sort(byName));
  }

  async remove(name: string, env: string): Promise<void> {
    await this.#write(this.#others(name, env));
  }

  #others(name: string, env: string): readonly StoredCredential[] {
    return this.all().filter((other) => other.name !== name || other.env !== env);
  }

  #write(credentials: readonly StoredCredential[]): Promise<void> {
    return this.#file.write({ version: 1, credentials });
  }
}

/** It is empty, and changing it throws an AutomateError (`usage`). */
function fileOfNobody(): StateFile<ListFile> {
  const refuse = async (): Promise<never> => {
    homeFolder(process.env);
    throw new Error('the home folder has appeared during the command');
  };
  return { path: '', read: () => undefined, write: refuse, alone: refuse };
}

function byName(a: StoredCredential, b: StoredCredential): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.env < b.env ? -1 : 1;
}

function isList(found: unknown): found is ListFile {
  const { version, credentials } = (found ?? {}) as Partial<ListFile>;
  return version === 1 && Array.isArray(credentials) && credentials.every(isCredential);
}

function isCredential(found: Partial<StoredCredential> | null): boolean {
  const { name, env, backend, setAt, expiresAt, hosts, lastUsedAt, previous, command, forMs } = found ?? {};
  const areTexts = (texts: unknown) => Array.isArray(texts) && texts.every((text) => typeof text === 'string');
  const times = [setAt, ...[expiresAt, lastUsedAt, previous?.expiresAt].filter(isThere), ...(isThere(previous) ? [previous?.setAt] : [])];
  return (
    areTexts([name, env, ...times]) &&
    times.every((time) => !Number.isNaN(Date.parse(time as string))) &&
    backendNames.some((name) => name === backend) &&
    (hosts === undefined || areTexts(hosts)) &&
    (command === undefined || typeof command === 'string') &&
    (forMs === undefined || (typeof forMs === 'number' && forMs > 0))
  );
}

function isThere(value: unknown): boolean {
  return value !== undefined;
}
