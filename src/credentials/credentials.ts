import { AutomateError } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { type BackendName, orRefusal } from './backend.ts';
import { type CredentialContext, findSecrets } from './lookup.ts';
import { accountOf, elsewhereText, type Finding, isInBackend, type StoredCredential } from './secret.ts';
import { type CommandOptions, deleteSecrets, type StoreOptions, storeCommand, storeSecret } from './store-secret.ts';

/** The credentials of one environment, whose name the user chooses, such as `staging`. */
export interface Credentials {
  /** Searches environment variables, files, the keychain and the vault. Leaves out credentials that are not found. */
  find(names: readonly string[]): Promise<ReadonlyMap<string, Finding>>;
  /** Includes the credentials of other environments. */
  list(): readonly StoredCredential[];
  /** Keeps the last secret that worked until a request with the new one succeeds. `left`: unopened stores that still have an old secret. */
  set(name: string, secret: string, options: StoreOptions): Promise<{ stored: StoredCredential; left: readonly BackendName[] }>;
  /** The last secret that worked is kept until a request with the command's secret has succeeded. */
  setCommand(name: string, command: string, options: CommandOptions): Promise<StoredCredential>;
  /** Makes the previous secret, which is still stored, the current one. */
  restore(name: string): Promise<StoredCredential>;
  /** If `isForced`, works even if the store cannot be opened. Resolves to false if that store still contains a secret. */
  remove(name: string, isForced: boolean): Promise<boolean>;
  /** Notes a successful request. `setAt` is the time when the secret was set. */
  used(name: string, setAt: string): Promise<void>;
}

/** Minimum interval in ms between two updates of a credential's `lastUsedAt`. */
const usedEveryMs = 60_000;

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
    // If there is no previous secret, only the time is updated. The same applies if the request used an older secret, because the current
    // secret is then still untested.
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
