import { AutomateError } from '../../core/failure.ts';
import { type BackendName, orRefusal } from './backend.ts';
import { type CredentialContext, findSecrets } from './lookup.ts';
import { accountOf, defaultEnv, elsewhereText, type Finding, isInBackend, type StoredCredential } from './secret.ts';
import { type CommandOptions, deleteSecrets, type StoreOptions, storeCommand, storeSecret } from './store-secret.ts';

/** The credentials of one environment. */
export interface Credentials {
  /** The secrets of these names, from variables, files, the keychain or the vault. Names without a secret are left out. */
  find(names: readonly string[]): Promise<ReadonlyMap<string, Finding>>;
  /** All stored credentials, of every environment. */
  list(): readonly StoredCredential[];
  /**
   * Stores a secret. The last good secret stays until the new one has succeeded.
   * `left`: backends that still hold the old secret, because they could not be opened.
   */
  set(name: string, secret: string, options: StoreOptions): Promise<{ stored: StoredCredential; left: readonly BackendName[] }>;
  /** Stores a command that gives the secret. The last good secret stays until the command's secret has succeeded. */
  setCommand(name: string, command: string, options: CommandOptions): Promise<StoredCredential>;
  /** Puts the previous secret back. */
  restore(name: string): Promise<StoredCredential>;
  /**
   * Deletes a credential. `isForced`: removes it from the list even if its backend cannot be opened.
   * False if the backend still has the secret.
   */
  remove(name: string, isForced: boolean): Promise<boolean>;
  /** Notes that a request signed with the secret set at that time has succeeded. */
  used(name: string, setAt: string): Promise<void>;
}

/** The last use is written at most once in this time. */
const usedEveryMs = 60_000;

/** Makes the one place where credentials are looked up, stored and deleted. */
export function createCredentials(context: CredentialContext): Credentials {
  return {
    find: (names) => findSecrets(names, context),
    list: () => context.catalog().all(),
    set: (name, secret, options) => storeSecret(name, secret, options, context),
    setCommand: (name, command, options) => storeCommand(name, command, options, context),
    restore: (name) => restoreSecret(name, context),
    remove: (name, isForced) => removeCredential(name, isForced, context),
    used: (name, setAt) => noteUse(name, setAt, context),
  };
}

async function restoreSecret(name: string, context: CredentialContext): Promise<StoredCredential> {
  const { backend } = storedCredential(name, context);
  const store = context.backend(backend);
  await store.unlock?.();
  return context.catalog().alone(async () => {
    const { previous, command, forMs, ...present } = storedCredential(name, context);
    const account = previous && accountOf({ ...present, ...previous });
    const old = account && (await store.read([account])).get(account);
    if (!previous || old === undefined) throw new AutomateError('credential', `no previous secret of "${name}" is stored`);
    const restored = { ...present, ...previous, expiresAt: previous.expiresAt, hosts: previous.hosts } as StoredCredential;
    await context.catalog().put(restored);
    if (command === undefined) await store.write(new Map([[accountOf(present), undefined]]));
    return restored;
  });
}

async function removeCredential(name: string, isForced: boolean, context: CredentialContext): Promise<boolean> {
  const found = storedCredential(name, context);
  if (isInBackend(found)) await orRefusal(Promise.resolve(context.backend(found.backend).unlock?.()));
  return context.catalog().alone(async () => {
    const refusal = await orRefusal(deleteSecrets(storedCredential(name, context), context));
    if (refusal && !isForced) {
      const facts = { code: 'secret-stays', details: { credential: name, env: context.env }, cause: refusal } as const;
      throw new AutomateError('credential', refusal.message, facts);
    }
    await context.catalog().remove(name, context.env);
    return !refusal;
  });
}

async function noteUse(name: string, setAt: string, context: CredentialContext): Promise<void> {
  const { env, catalog, wallNow } = context;
  const seen = catalog().find(name, env);
  if (!seen || isJustNoted(seen, wallNow())) return;
  await catalog().alone(async () => {
    const stored = catalog().find(name, env);
    if (!stored) return;
    const { previous, ...rest } = stored;
    const lastUsedAt = new Date(wallNow()).toISOString();
    // After a newer `set`, the request was signed with the previous secret: both secrets stay.
    if (stored.setAt !== setAt || !previous) return catalog().put({ ...stored, lastUsedAt });
    await catalog().put({ ...rest, lastUsedAt });
    await context.backend(stored.backend).write(new Map([[accountOf({ ...stored, ...previous }), undefined]]));
  });
}

function isJustNoted({ previous, lastUsedAt }: StoredCredential, nowMs: number): boolean {
  return !previous && lastUsedAt !== undefined && nowMs - Date.parse(lastUsedAt) < usedEveryMs;
}

function storedCredential(name: string, { catalog, env }: CredentialContext): StoredCredential {
  const stored = catalog().find(name, env);
  if (stored) return stored;
  const elsewhere = catalog()
    .all()
    .flatMap((other) => (other.name === name ? [other.env] : []));
  const where = env === defaultEnv ? '' : ` for the environment ${env}`;
  throw new AutomateError('credential', `no credential "${name}" is stored${where}${elsewhereText(elsewhere)}`, {
    code: 'credential',
    details: { credential: name, elsewhere },
  });
}
