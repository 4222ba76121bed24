import { createStateFile, type StateFile } from '../files/state-file.ts';
import { backendNames } from './backend.ts';
import type { StoredCredential } from './secret.ts';

interface CatalogFile {
  readonly version: 1;
  readonly credentials: readonly StoredCredential[];
}

/** Contains the names and settings of credentials, but not their secrets. */
export interface Catalog {
  /** Throws an AutomateError (`credential`) if the list cannot be read. */
  all(): readonly StoredCredential[];
  find(name: string, env: string): StoredCredential | undefined;
  /** Replaces any credential with the same name and environment. */
  put(credential: StoredCredential): Promise<void>;
  remove(name: string, env: string): Promise<void>;
  /** Runs a function under a lock that keeps other processes from changing the list or the secrets. */
  readonly alone: StateFile<CatalogFile>['alone'];
}

export function openCatalog(path: string): Catalog {
  const file = createStateFile(path, isCatalog);
  const all = () => file.read()?.credentials ?? [];
  const others = (name: string, env: string) => all().filter((other) => other.name !== name || other.env !== env);
  const write = (credentials: readonly StoredCredential[]) => file.write({ version: 1, credentials });
  return {
    all,
    find: (name, env) => all().find((credential) => credential.name === name && credential.env === env),
    put: (credential) => write([...others(credential.name, credential.env), credential].sort(byName)),
    remove: (name, env) => write(others(name, env)),
    alone: file.alone,
  };
}

function byName(a: StoredCredential, b: StoredCredential): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.env < b.env ? -1 : 1;
}

function isCatalog(found: unknown): found is CatalogFile {
  const { version, credentials } = (found ?? {}) as Partial<CatalogFile>;
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
