import { join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { envOf, homeIfAny } from '../files/home.ts';
import { type BackendName, backendNames, orRefusal, type SecretBackend } from './backend.ts';
import { CredentialList } from './credential-list.ts';
import { findInEnvironment } from './environment.ts';
import { createKeychain } from './keychain.ts';
import type { Asker, Messages } from './messages.ts';
import {
  accountOf,
  elsewhereText,
  expiredProblem,
  type Finding,
  isCommand,
  isInBackend,
  type StoredCredential,
  toFinding,
  unopenedProblem,
} from './secret.ts';
import { createPassphrase, Vault } from './vault.ts';

/** The timeout is longer with a person at the terminal, because a dialog can ask for the keychain's password. */
const keychainTimeoutMs = { alone: 10_000, withPerson: 120_000 };

/** By default, uses the environment in AUTOMATE_ENV. Reads nothing until a credential is needed. */
export function openCredentials(
  env: string | undefined,
  { redactor, warn, findAsker }: Pick<Messages, 'redactor' | 'findAsker'> & Partial<Pick<Messages, 'warn'>>,
): CredentialStore {
  const home = homeIfAny(process.env);
  const asker = findAsker?.();
  const passphrase = createPassphrase(process.env, asker && ((...how) => askPassphrase(asker, ...how)), warn);
  const keychain = createKeychain({
    service: `automate ${home ?? ''}`,
    environment: process.env,
    timeoutMs: asker ? keychainTimeoutMs.withPerson : keychainTimeoutMs.alone,
  });
  const vault = new Vault(join(home ?? '', 'vault.json'), {
    ...passphrase,
    async get(isNew) {
      const text = await passphrase.get(isNew);
      redactor.add(text);
      return text;
    },
  });
  return new CredentialStore(envOf(env), new CredentialList(home), { keychain, vault });
}

async function askPassphrase(asker: Asker, isNew: boolean, isAgain: boolean): Promise<string> {
  if (!isNew) return asker.secret(isAgain ? 'That is not the passphrase. Passphrase of the vault' : 'Passphrase of the vault');
  const first = await asker.secret('Choose a passphrase for the new vault (without it, its secrets are lost)');
  await asker.secret('Repeat it', (again) => (again === first ? undefined : 'the two passphrases differ'));
  return first;
}

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

/** `forMs`: time until the command is run again for a new secret. If undefined, only a 401 makes it run again. */
type CommandOptions = Limits & { readonly forMs?: number };

/** `left`: unopened stores that still have an old secret. */
type Stored = { readonly stored: StoredCredential; readonly left: readonly BackendName[] };

/** Minimum interval in ms between two updates of a credential's `lastUsedAt`. */
const usedEveryMs = 60_000;

interface Backends {
  readonly keychain: SecretBackend;
  readonly vault: SecretBackend & { readonly path: string };
}

/** The credentials of one environment, whose name the user chooses, such as `staging`. */
export class CredentialStore {
  readonly env: string;
  readonly backends: Backends;
  readonly #list: CredentialList;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #wallNow: () => number;

  constructor(env: string, list: CredentialList, backends: Backends, { environment = process.env, wallNow = Date.now } = {}) {
    this.env = env;
    this.backends = backends;
    this.#list = list;
    this.#environment = environment;
    this.#wallNow = wallNow;
  }

  /** Includes the credentials of other environments. */
  list(): readonly StoredCredential[] {
    return this.#list.all();
  }

  /** Looks in variables and files, then in keychain and vault, each at most once. Runs no command. Leaves out what it cannot find. */
  async find(names: readonly string[]): Promise<ReadonlyMap<string, Finding>> {
    const found = await findInEnvironment(names, this.#environment);
    const rest = names.filter((name) => !found.has(name));
    if (rest.length === 0) return found;
    const stored = rest.flatMap((name) => this.#stored(name) ?? []);
    for (const credential of stored) {
      if (isExpired(credential, this.#wallNow())) found.set(credential.name, { problem: expiredProblem(credential) });
      else if (isCommand(credential)) found.set(credential.name, { command: credential });
    }
    for (const name of backendNames) {
      const wanted = stored.filter((credential) => credential.backend === name && !found.has(credential.name));
      const secrets = wanted.length === 0 ? new Map<string, string>() : await orRefusal(this.backends[name].read(wanted.map(accountOf)));
      for (const credential of wanted) {
        const isRefused = secrets instanceof AutomateError;
        found.set(
          credential.name,
          isRefused ? { problem: unopenedProblem(credential, secrets) } : toFinding(credential, secrets.get(accountOf(credential))),
        );
      }
    }
    return found;
  }

  /** Keeps the last secret that worked until a request with the new one succeeds. */
  async set(name: string, secret: string, options: StoreOptions): Promise<Stored> {
    if (!options.replacesCommand) this.#refuseCommand(name);
    const backend = await this.#chooseBackend(name, options);
    await backend.unlock?.();
    return this.#list.alone(() => {
      if (!options.replacesCommand) this.#refuseCommand(name);
      return this.#replaceSecret(name, secret, backend.name, options);
    });
  }

  /** The last secret that worked is kept until a request with the command's secret has succeeded. */
  async setCommand(name: string, command: string, { forMs, ...limits }: CommandOptions): Promise<StoredCredential> {
    return this.#list.alone(async () => {
      const before = this.#stored(name);
      const stored = {
        name,
        env: this.env,
        // This field is required, but is used only for a previous secret. An older version of automate, which does not support commands,
        // looks in this backend and finds no secret.
        backend: before?.backend ?? backendNames[0],
        setAt: uniqueTime(before, this.#wallNow()),
        ...withLimits(limits, before),
        previous: before && previousOf(before),
        command,
        forMs,
      } as StoredCredential;
      await this.#list.put(stored);
      // The current secret has not worked in any request, so it is deleted. The previous secret, which has worked, is kept.
      if (before?.previous && !isCommand(before)) await orRefusal(this.#deleteSecrets(before, before.previous.setAt));
      return stored;
    });
  }

  /** Makes the previous secret, which is still stored, the current one. */
  async restore(name: string): Promise<StoredCredential> {
    const store = this.backends[this.#storedOrThrow(name).backend];
    await store.unlock?.();
    return this.#list.alone(async () => {
      const { previous, command, forMs, ...present } = this.#storedOrThrow(name);
      const account = previous && accountOf({ ...present, ...previous });
      const old = account && (await store.read([account])).get(account);
      if (!previous || old === undefined) throw new AutomateError('credential', `no previous secret of "${name}" is stored`);
      const restored = { ...present, ...previous, expiresAt: previous.expiresAt, hosts: previous.hosts } as StoredCredential;
      await this.#list.put(restored);
      if (command === undefined) await store.write(new Map([[accountOf(present), undefined]]));
      return restored;
    });
  }

  /** If `isForced`, works even if the store cannot be opened. Resolves to false if that store still contains a secret. */
  async remove(name: string, isForced: boolean): Promise<boolean> {
    const found = this.#storedOrThrow(name);
    if (isInBackend(found)) await orRefusal(Promise.resolve(this.backends[found.backend].unlock?.()));
    return this.#list.alone(async () => {
      const refusal = await orRefusal(this.#deleteSecrets(this.#storedOrThrow(name)));
      if (refusal && !isForced) {
        const facts = { code: 'secret-stays', details: { credential: name, env: this.env }, cause: refusal } as const;
        throw new AutomateError('credential', refusal.message, facts);
      }
      await this.#list.remove(name, this.env);
      return !refusal;
    });
  }

  /** Notes a successful request. `setAt` is the time when the secret was set. */
  async used(name: string, setAt: string): Promise<void> {
    const seen = this.#stored(name);
    if (!seen || isJustNoted(seen, this.#wallNow())) return;
    await this.#list.alone(async () => {
      const stored = this.#stored(name);
      if (!stored) return;
      const { previous, ...rest } = stored;
      const lastUsedAt = new Date(this.#wallNow()).toISOString();
      // If there is no previous secret, only the time is updated. The same applies if the request used an older secret, because the current
      // secret is then still untested.
      if (stored.setAt !== setAt || !previous) return this.#list.put({ ...stored, lastUsedAt });
      await this.#list.put({ ...rest, lastUsedAt });
      await this.backends[stored.backend].write(new Map([[accountOf({ ...stored, ...previous }), undefined]]));
    });
  }

  #stored(name: string): StoredCredential | undefined {
    return this.#list.find(name, this.env);
  }

  #storedOrThrow(name: string): StoredCredential {
    const stored = this.#stored(name);
    if (stored) return stored;
    const elsewhere = this.list().flatMap((other) => (other.name === name ? [other.env] : []));
    const where = this.env === defaultEnv ? '' : ` for the environment ${this.env}`;
    throw new AutomateError('credential', `no credential "${name}" is stored${where}${elsewhereText(elsewhere)}`, {
      code: 'credential',
      details: { credential: name, elsewhere },
    });
  }

  #refuseCommand(name: string): void {
    if (!isCommand(this.#stored(name))) return;
    const wayOut = 'which can be replaced only with automate credentials set';
    throw new AutomateError('credential', `the credential "${name}" gets its secret from a command, ${wayOut}`);
  }

  /** The store in the options, the current one, or the first that works. A secret never moves by itself, even if its store is closed. */
  async #chooseBackend(name: string, { backend }: StoreOptions): Promise<SecretBackend> {
    const before = this.#stored(name);
    const fixed = backend ?? (before && isInBackend(before) ? before.backend : undefined);
    const problems: string[] = [];
    for (const choice of fixed ? [fixed] : backendNames) {
      const problem = await this.backends[choice].problem();
      if (problem === undefined) return this.backends[choice];
      // Shows only the first line of the problem, because the remedies on the other lines are added once at the end of the message.
      problems.push(`the ${choice} cannot be used: ${problem.split('\n')[0]}`);
    }
    const facts = { code: 'no-place-for-secret', details: { credential: name, isInKeychain: fixed === 'keychain' } } as const;
    throw new AutomateError('credential', ['the secret cannot be stored', ...problems].join('\n'), facts);
  }

  /**
   * Stores the new secret next to the old one, then lists it with its hosts and expiry in one write. So even if the process is killed in
   * between, no secret is used with the hosts of another.
   */
  async #replaceSecret(name: string, secret: string, backend: BackendName, limits: Limits): Promise<Stored> {
    const { env } = this;
    const before = this.#stored(name);
    const setAt = uniqueTime(before, this.#wallNow());
    const held = before && isInBackend(before) ? before : undefined;
    const good = held && (await lastGoodSecret(held, secret, this.backends[held.backend]));
    const isMoved = held !== undefined && held.backend !== backend;
    const carried = good && isMoved ? [[accountOf({ ...held, ...good.previous }), good.text] as const] : [];
    await this.backends[backend].write(new Map([...carried, [accountOf({ name, env, setAt }), secret]]));
    const stored = { name, env, backend, setAt, ...withLimits(limits, before), previous: good?.previous } as StoredCredential;
    await this.#list.put(stored);
    const refusal = held && (await orRefusal(this.#deleteSecrets(held, isMoved ? undefined : good?.previous.setAt)));
    return { stored, left: refusal && isMoved ? [held.backend] : [] };
  }

  /** Spares a secret that was set at `exceptSetAt`. */
  async #deleteSecrets(credential: StoredCredential, exceptSetAt?: string): Promise<void> {
    if (!isInBackend(credential)) return;
    const times = [credential, credential.previous].flatMap((secret) => (secret && secret.setAt !== exceptSetAt ? [secret.setAt] : []));
    await this.backends[credential.backend].write(new Map(times.map((setAt) => [accountOf({ ...credential, setAt }), undefined])));
  }
}

function isExpired({ expiresAt }: StoredCredential, nowMs: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= nowMs;
}

function isJustNoted({ previous, lastUsedAt }: StoredCredential, nowMs: number): boolean {
  return !previous && lastUsedAt !== undefined && nowMs - Date.parse(lastUsedAt) < usedEveryMs;
}

function withLimits({ expiresAt, hosts }: Limits, before: StoredCredential | undefined) {
  return { expiresAt, hosts: hosts?.includes('*') ? undefined : (hosts ?? before?.hosts), lastUsedAt: before?.lastUsedAt };
}

/** The current time or, if an older secret is as late, just after that. It is part of the name that the secret is stored under. */
function uniqueTime(before: StoredCredential | undefined, nowMs: number): string {
  const older = [before, before?.previous].flatMap((secret) => (secret ? [Date.parse(secret.setAt) + 1] : []));
  return new Date(Math.max(nowMs, ...older)).toISOString();
}

/** The last secret that worked, or the only stored one. Undefined if only a command is stored. */
function previousOf({ previous, setAt, expiresAt, hosts, command }: StoredCredential): StoredCredential['previous'] {
  return previous ?? (command === undefined ? ({ setAt, expiresAt, hosts } as StoredCredential['previous']) : undefined);
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
