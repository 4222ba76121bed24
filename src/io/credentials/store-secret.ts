import { AutomateError } from '../../core/failure.ts';
import { type BackendName, backendNames, orRefusal, type SecretBackend } from './backend.ts';
import type { CredentialContext } from './lookup.ts';
import { accountOf, isCommand, isInBackend, type StoredCredential } from './secret.ts';

interface Limits {
  /** ISO 8601. */
  readonly expiresAt?: string | undefined;
  /** Absent: the hosts of the present secret; `*`: any host. */
  readonly hosts?: readonly string[] | undefined;
}

/** Backend, expiry and hosts of a secret that is to be stored. */
export interface StoreOptions extends Limits {
  /** Absent: the backend of the present secret, else the first backend that can be used. */
  readonly backend?: BackendName | undefined;
  /** True for the owner of the machine. Nothing else replaces a command: no login, and no server. */
  readonly replacesCommand?: boolean;
}

/** Expiry and hosts of a secret that a command gives. */
export interface CommandOptions extends Limits {
  /** The time after which the command is run again; absent for never. */
  readonly forMs?: number | undefined;
}

type Stored = { readonly stored: StoredCredential; readonly left: readonly BackendName[] };

/** Stores a secret in the backend that `options` name, or in the backend that has the present secret. */
export async function storeSecret(name: string, secret: string, options: StoreOptions, context: CredentialContext): Promise<Stored> {
  if (!options.replacesCommand) refuseCommand(name, context);
  const backend = await chooseBackend(name, options, context);
  await backend.unlock?.();
  return context.catalog().alone(() => {
    if (!options.replacesCommand) refuseCommand(name, context);
    return replaceSecret(name, secret, { ...options, backend: backend.name }, context);
  });
}

function refuseCommand(name: string, { catalog, env }: CredentialContext): void {
  if (isCommand(catalog().find(name, env)))
    throw new AutomateError('credential', `the credential "${name}" is a command, which only its owner can replace`);
}

/** Stores a command, in the list alone. The last secret that has succeeded stays in its backend until that of the command has. */
export async function storeCommand(
  name: string,
  command: string,
  { forMs, ...limits }: CommandOptions,
  context: CredentialContext,
): Promise<StoredCredential> {
  const { env, catalog } = context;
  return catalog().alone(async () => {
    const before = catalog().find(name, env);
    const stored = {
      name,
      env,
      // With no previous secret, the backend means nothing. Versions without commands look there, and find no secret.
      backend: before?.backend ?? backendNames[0],
      setAt: uniqueTime(before, context.wallNow()),
      ...withLimits(limits, before),
      previous: before && previousOf(before),
      command,
      forMs,
    } as StoredCredential;
    await catalog().put(stored);
    // The secret in between was never used.
    if (before?.previous && !isCommand(before)) await orRefusal(deleteSecrets(before, context, before.previous.setAt));
    return stored;
  });
}

function withLimits({ expiresAt, hosts }: Limits, before: StoredCredential | undefined) {
  return { expiresAt, hosts: hosts?.includes('*') ? undefined : (hosts ?? before?.hosts), lastUsedAt: before?.lastUsedAt };
}

/** The last secret that has succeeded, or the only secret; undefined if there is only a command. */
function previousOf({ previous, setAt, expiresAt, hosts, command }: StoredCredential): StoredCredential['previous'] {
  return previous ?? (command === undefined ? ({ setAt, expiresAt, hosts } as StoredCredential['previous']) : undefined);
}

/**
 * Writes the new secret next to the old secret, then switches the catalog over in one write, with its hosts and expiry.
 * Even if the process is killed in between, no secret is used with the hosts of another.
 */
async function replaceSecret(name: string, secret: string, options: StoreOptions, context: CredentialContext): Promise<Stored> {
  const { env } = context;
  const backend = options.backend as BackendName;
  const before = context.catalog().find(name, env);
  const setAt = uniqueTime(before, context.wallNow());
  const held = before && isInBackend(before) ? before : undefined;
  const good = held && (await lastGoodSecret(held, secret, context.backend(held.backend)));
  const isMoved = held !== undefined && held.backend !== backend;
  const carried = good && isMoved ? [[accountOf({ ...held, ...good.previous }), good.text] as const] : [];
  await context.backend(backend).write(new Map([...carried, [accountOf({ name, env, setAt }), secret]]));
  const stored = {
    name,
    env,
    backend,
    setAt,
    ...withLimits(options, before),
    previous: good?.previous,
  } as StoredCredential;
  await context.catalog().put(stored);
  const refusal = held && (await orRefusal(deleteSecrets(held, context, isMoved ? undefined : good?.previous.setAt)));
  return { stored, left: refusal && isMoved ? [held.backend] : [] };
}

/** Deletes the secret of a credential and its previous secret, except the secret set at `exceptSetAt`. */
export async function deleteSecrets(credential: StoredCredential, context: CredentialContext, exceptSetAt?: string): Promise<void> {
  if (!isInBackend(credential)) return;
  const times = [credential, credential.previous].flatMap((secret) => (secret && secret.setAt !== exceptSetAt ? [secret.setAt] : []));
  await context.backend(credential.backend).write(new Map(times.map((setAt) => [accountOf({ ...credential, setAt }), undefined])));
}

/** The present time, or a millisecond after that of any older secret: the time is part of the account's name. */
function uniqueTime(before: StoredCredential | undefined, nowMs: number): string {
  const older = [before, before?.previous].flatMap((secret) => (secret ? [Date.parse(secret.setAt) + 1] : []));
  return new Date(Math.max(nowMs, ...older)).toISOString();
}

type GoodSecret = { readonly previous: NonNullable<StoredCredential['previous']>; readonly text: string };

/** The last secret that has succeeded, or the only secret. Absent if it cannot be read, or equals the new secret. */
async function lastGoodSecret(before: StoredCredential, secret: string, backend: SecretBackend): Promise<GoodSecret | undefined> {
  const previous = previousOf(before) as GoodSecret['previous'];
  const account = accountOf({ ...before, ...previous });
  const found = await orRefusal(backend.read([account]));
  const text = found instanceof AutomateError ? undefined : found.get(account);
  return text === undefined || text === secret ? undefined : { previous, text };
}

/** The first backend that can be used. A stored credential stays in its backend: it is not moved to another backend if its own cannot be opened now. */
async function chooseBackend(name: string, { backend }: StoreOptions, context: CredentialContext): Promise<SecretBackend> {
  const before = context.catalog().find(name, context.env);
  const fixed = backend ?? (before && isInBackend(before) ? before.backend : undefined);
  const problems: string[] = [];
  for (const choice of fixed ? [fixed] : backendNames) {
    const problem = await context.backend(choice).problem();
    if (problem === undefined) return context.backend(choice);
    // The ways out stand at the end, once.
    problems.push(`the ${choice} cannot be used: ${problem.split('\n')[0]}`);
  }
  const facts = { code: 'no-place-for-secret', details: { credential: name, isInKeychain: fixed === 'keychain' } } as const;
  throw new AutomateError('credential', ['the secret cannot be stored', ...problems].join('\n'), facts);
}
