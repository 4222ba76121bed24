import { createStateFile, type StateFile } from '../files/state-file.ts';
import { backendNames } from './backend.ts';
import type { StoredCredential } from './secret.ts';

interface CatalogFile {
  readonly version: 1;
  readonly credentials: readonly StoredCredential[];
}

/** The list of what is kept. */
export interface Catalog {
  /** Throws an AutomateError (`credential`) when it cannot be read. */
  all(): readonly StoredCredential[];
  find(name: string, env: string): StoredCredential | undefined;
  /** Puts a credential in, in the place of one of its name. */
  put(kept: StoredCredential): Promise<void>;
  remove(name: string, env: string): Promise<void>;
  /** Keeps other processes from changing it, and the secrets it lists, at the same time. */
  readonly alone: StateFile<CatalogFile>['alone'];
}

/** Opens the list of kept credentials. */
export function openCatalog(path: string): Catalog {
  const file = createStateFile(path, isCatalog);
  const all = () => file.read()?.credentials ?? [];
  const others = (name: string, env: string) => all().filter((kept) => kept.name !== name || kept.env !== env);
  const write = (credentials: readonly StoredCredential[]) => file.write({ version: 1, credentials });
  return {
    all,
    find: (name, env) => all().find((kept) => kept.name === name && kept.env === env),
    put: (kept) => write([...others(kept.name, kept.env), kept].sort(byName)),
    remove: (name, env) => write(others(name, env)),
    alone: file.alone,
  };
}

function byName(a: StoredCredential, b: StoredCredential): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : a.env < b.env ? -1 : 1;
}

function isCatalog(found: unknown): found is CatalogFile {
  const { version, credentials } = (found ?? {}) as Partial<CatalogFile>;
  return version === 1 && Array.isArray(credentials) && credentials.every(isKept);
}

function isKept(found: Partial<StoredCredential> | null): boolean {
  const { name, env, backend, setAt, expiresAt, hosts, lastUsedAt, previous } = found ?? {};
  const areTexts = (texts: unknown) => Array.isArray(texts) && texts.every((text) => typeof text === 'string');
  const times = [setAt, ...[expiresAt, lastUsedAt, previous?.expiresAt].filter(isThere), ...(isThere(previous) ? [previous?.setAt] : [])];
  return (
    areTexts([name, env, ...times]) &&
    times.every((time) => !Number.isNaN(Date.parse(time as string))) &&
    backendNames.some((keeper) => keeper === backend) &&
    (hosts === undefined || areTexts(hosts))
  );
}

function isThere(value: unknown): boolean {
  return value !== undefined;
}
