import { AutomateError } from '../core/failure.ts';
import { type BackendName, backendNames, orRefusal, type SecretBackend } from './backend.ts';
import type { CredentialContext } from './lookup.ts';
import { accountOf, isCommand, isInBackend, type StoredCredential } from './secret.ts';

interface Limits {
  /** In ISO 8601; undefined if the secret does not expire. */
  readonly expiresAt?: string;
  /** `*` allows any host. If undefined, the current secret's hosts also apply to the new one. */
  readonly hosts?: readonly string[];
}

export interface StoreOptions extends Limits {
  /** If undefined, uses the store of the current secret or, if there is none, the first store that works. */
  readonly backend?: BackendName;
  /** Only the user of this machine may replace a command by a secret, not a login or a client of the server. */
  readonly replacesCommand?: boolean;
}

export interface CommandOptions extends Limits {
  /** Time in ms until the command is run again for a new secret. If undefined, only a 401 makes it run again. */
  readonly forMs?: number;
}

type Stored = { readonly stored: StoredCredential; readonly left: readonly BackendName[] };

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
    throw new AutomateError(
      'credential',
      `the credential "${name}" gets its secret from a command, which can be replaced only with automate credentials set`,
    );
}

/** The last secret that worked is kept until a request with the command's secret has succeeded. */
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
      // This field is required, but is used only for a previous secret. An older version of automate, which does not support commands,
      // looks in this backend and finds no secret.
      backend: before?.backend ?? backendNames[0],
      setAt: uniqueTime(before, context.wallNow()),
      ...withLimits(limits, before),
      previous: before && previousOf(before),
      command,
      forMs,
    } as StoredCredential;
    await catalog().put(stored);
    // The current secret has not worked in any request, so it is deleted. The previous secret, which has worked, is kept.
    if (before?.previous && !isCommand(before)) await orRefusal(deleteSecrets(before, context, before.previous.setAt));
    return stored;
  });
}

function withLimits({ expiresAt, hosts }: Limits, before: StoredCredential | undefined) {
  return { expiresAt, hosts: hosts?.includes('*') ? undefined : (hosts ?? before?.hosts), lastUsedAt: before?.lastUsedAt };
}

/** The last secret that worked, or the only stored one. Undefined if only a command is stored. */
function previousOf({ previous, setAt, expiresAt, hosts, command }: StoredCredential): StoredCredential['previous'] {
  return previous ?? (command === undefined ? ({ setAt, expiresAt, hosts } as StoredCredential['previous']) : undefined);
}

/**
 * Stores the new secret next to the old one, then lists it with its hosts and expiry in one write. So even if the process is killed in
 * between, no secret is used with the hosts of another.
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

/** Spares a secret that was set at `exceptSetAt`. */
export async function deleteSecrets(credential: StoredCredential, context: CredentialContext, exceptSetAt?: string): Promise<void> {
  if (!isInBackend(credential)) return;
  const times = [credential, credential.previous].flatMap((secret) => (secret && secret.setAt !== exceptSetAt ? [secret.setAt] : []));
  await context.backend(credential.backend).write(new Map(times.map((setAt) => [accountOf({ ...credential, setAt }), undefined])));
}

/** The current time or, if an older secret is as late, just after that. It is part of the name that the secret is stored under. */
function uniqueTime(before: StoredCredential | undefined, nowMs: number): string {
  const older = [before, before?.previous].flatMap((secret) => (secret ? [Date.parse(secret.setAt) + 1] : []));
  return new Date(Math.max(nowMs, ...older)).toISOString();
}

type GoodSecret = { readonly previous: NonNullable<StoredCredential['previous']>; readonly text: string };

/** The last secret that worked, or the only stored one. Undefined if it cannot be read or equals the new one. */
async function lastGoodSecret(before: StoredCredential, secret: string, backend: SecretBackend): Promise<GoodSecret | undefined> {
  const previous = previousOf(before) as GoodSecret['previous'];
  const account = accountOf({ ...before, ...previous });
  const found = await orRefusal(backend.read([account]));
  const text = found instanceof AutomateError ? undefined : found.get(account);
  return text === undefined || text === secret ? undefined : { previous, text };
}

/**
 * Tries the store in the options, the current secret's store, and then the first that works. A secret never moves by itself, even if its
 * store cannot be opened now.
 */
async function chooseBackend(name: string, { backend }: StoreOptions, context: CredentialContext): Promise<SecretBackend> {
  const before = context.catalog().find(name, context.env);
  const fixed = backend ?? (before && isInBackend(before) ? before.backend : undefined);
  const problems: string[] = [];
  for (const choice of fixed ? [fixed] : backendNames) {
    const problem = await context.backend(choice).problem();
    if (problem === undefined) return context.backend(choice);
    // Shows only the first line of the problem, because the remedies on the other lines are added once at the end of the message.
    problems.push(`the ${choice} cannot be used: ${problem.split('\n')[0]}`);
  }
  const facts = { code: 'no-place-for-secret', details: { credential: name, isInKeychain: fixed === 'keychain' } } as const;
  throw new AutomateError('credential', ['the secret cannot be stored', ...problems].join('\n'), facts);
}
