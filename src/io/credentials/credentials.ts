import { AutomateError } from '../../core/failure.ts';
import type { Catalog } from './catalog.ts';
import { credentialVariable, findInEnvironment } from './environment.ts';
import { type KeeperName, keeperNames, type SecretKeeper } from './keeper.ts';
import { defaultEnv, envOption, type Finding, type KeptCredential } from './secret.ts';

/** How a secret is to be kept. */
export interface KeepWish {
  /** ISO 8601. */
  readonly expiresAt?: string | undefined;
  /** Absent for those that it has already; `*` for any. */
  readonly hosts?: readonly string[] | undefined;
  /** Absent for the place where it is already, else the first that can be used. */
  readonly backend?: KeeperName | undefined;
}

/** The credentials of one environment (`--env`). */
export interface Credentials {
  /** The secrets of these names: from variables, from files, from where they are kept. Those that nobody has are left out. */
  find(names: readonly string[]): Promise<ReadonlyMap<string, Finding>>;
  /** All that are kept, in every environment. */
  kept(): readonly KeptCredential[];
  /** Keeps a secret. The one before it is kept, too, until this one has succeeded. Answers what could not be done besides. */
  set(name: string, secret: string, wish: KeepWish): Promise<{ readonly kept: KeptCredential; readonly left: readonly string[] }>;
  /** Puts the secret before this one back. */
  restore(name: string): Promise<KeptCredential>;
  /** `isForced`: forgets it even where its keeper cannot be reached; answers whether it is gone there, too. */
  remove(name: string, isForced: boolean): Promise<boolean>;
  /** A request with the secret that was set then has succeeded. */
  used(name: string, setAt: string): Promise<void>;
}

/** What credentials are made of. */
export interface CredentialTools {
  readonly env: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Opened when something is asked of it. */
  catalog(): Catalog;
  keeper(name: KeeperName): SecretKeeper;
  wallNow(): number;
}

/** A use is noted down once in so long a time. */
const usedEveryMs = 60_000;

/** Makes the one place where credentials are looked up and kept. */
export function createCredentials(tools: CredentialTools): Credentials {
  const { env, environment, catalog, keeper } = tools;
  const now = () => new Date(tools.wallNow()).toISOString();
  return {
    async find(names) {
      const found = await findInEnvironment(names, environment);
      const rest = names.filter((name) => !found.has(name));
      if (rest.length === 0) return found;
      const listed = rest.flatMap((name) => catalog().find(name, env) ?? []);
      for (const kept of listed) if (isExpired(kept)) found.set(kept.name, { problem: expired(kept) });
      for (const name of keeperNames) {
        const wanted = listed.filter((kept) => kept.backend === name && !found.has(kept.name));
        if (wanted.length > 0) for (const [credential, finding] of await fromKeeper(keeper(name), wanted)) found.set(credential, finding);
      }
      return found;
    },

    kept: () => catalog().all(),

    async set(name, secret, wish) {
      const backend = await usable(name, wish.backend, catalog().find(name, env)?.backend);
      await keeper(backend).prepare?.();
      return catalog().alone(() => kept(name, secret, wish, backend));
    },

    async restore(name) {
      await keeper(known(name).backend).prepare?.();
      return catalog().alone(async () => {
        const { previous, ...present } = known(name);
        const account = previous && accountOf({ ...present, ...previous });
        const old = account && (await keeper(present.backend).read([account])).get(account);
        if (!previous || old === undefined) throw new AutomateError('credential', `no secret before the present one of "${name}" is kept`);
        const restored = { ...present, ...previous, expiresAt: previous.expiresAt, hosts: previous.hosts } as KeptCredential;
        await catalog().put(restored);
        await keeper(present.backend).write(new Map([[accountOf(present), undefined]]));
        return restored;
      });
    },

    async remove(name, isForced) {
      await keeper(known(name).backend)
        .prepare?.()
        .catch((error: unknown) => {
          if (!isRefusal(error)) throw error;
        });
      return catalog().alone(async () => {
        const isGone = await takeAway(known(name)).then(
          () => true,
          (error: unknown) => {
            if (!isRefusal(error)) throw error;
            if (isForced) return false;
            const way = `forget it all the same: automate credentials remove ${name}${envOption(env)} --force`;
            throw new AutomateError('credential', `${error.message}\n${way}`, { cause: error });
          },
        );
        await catalog().remove(name, env);
        return isGone;
      });
    },

    async used(name, setAt) {
      const seen = catalog().find(name, env);
      if (!seen || isJustNoted(seen)) return;
      await catalog().alone(async () => {
        const kept = catalog().find(name, env);
        if (!kept) return;
        // Set anew meanwhile: what has succeeded was the one before.
        if (kept.setAt !== setAt || !kept.previous) return catalog().put({ ...kept, lastUsedAt: now() });
        const { previous, ...rest } = kept;
        await catalog().put({ ...rest, lastUsedAt: now() });
        await keeper(kept.backend).write(new Map([[accountOf({ ...kept, ...previous }), undefined]]));
      });
    },
  };

  function isJustNoted({ previous, lastUsedAt }: KeptCredential): boolean {
    return !previous && lastUsedAt !== undefined && tools.wallNow() - Date.parse(lastUsedAt) < usedEveryMs;
  }

  /**
   * The new secret is written beside the old one, and then the list is switched over, with hosts and end, in one go:
   * whatever ends the process in between, no secret goes by what was said of another.
   */
  async function kept(
    name: string,
    secret: string,
    wish: KeepWish,
    backend: KeeperName,
  ): Promise<{ kept: KeptCredential; left: readonly string[] }> {
    const before = catalog().find(name, env);
    const setAt = laterThan(before);
    const good = before && (await lastGood(before, secret));
    const moved = good && before.backend !== backend ? [[accountOf({ name, env, setAt: good.previous.setAt }), good.text] as const] : [];
    await keeper(backend).write(new Map([...moved, [accountOf({ name, env, setAt }), secret]]));
    const previous = good?.previous;
    const hosts = wish.hosts?.includes('*') ? undefined : (wish.hosts ?? before?.hosts);
    const entry = {
      name,
      env,
      backend,
      setAt,
      expiresAt: wish.expiresAt,
      hosts,
      lastUsedAt: before?.lastUsedAt,
      previous,
    } as KeptCredential;
    await catalog().put(entry);
    const isGone = before === undefined || (await isTakenAway(before, before.backend === backend ? previous?.setAt : undefined));
    return { kept: entry, left: isGone || before.backend === backend ? [] : [before.backend] };
  }

  /** It is part of the secret's place, so no two may have the same. */
  function laterThan(before: KeptCredential | undefined): string {
    const first = Math.max(Date.parse(before?.setAt ?? ''), Date.parse(before?.previous?.setAt ?? '')) || 0;
    return new Date(Math.max(tools.wallNow(), first + 1)).toISOString();
  }

  function known(name: string): KeptCredential {
    const kept = catalog().find(name, env);
    if (kept) return kept;
    const elsewhere = catalog()
      .all()
      .flatMap((other) => (other.name === name ? [`--env ${other.env}`] : []));
    const hint = elsewhere.length === 0 ? '' : `; it is kept for ${elsewhere.join(' and ')}`;
    throw new AutomateError('credential', `no credential "${name}" is kept${env === defaultEnv ? '' : ` for --env ${env}`}${hint}`);
  }

  function isExpired({ expiresAt }: KeptCredential): boolean {
    return expiresAt !== undefined && Date.parse(expiresAt) <= tools.wallNow();
  }

  async function fromKeeper(from: SecretKeeper, wanted: readonly KeptCredential[]): Promise<[string, Finding][]> {
    try {
      const secrets = await from.read(wanted.map(accountOf));
      return wanted.map((kept) => [kept.name, findingOf(kept, secrets.get(accountOf(kept)))]);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return wanted.map(({ name }) => [name, { problem: `the credential "${name}" is in the ${from.name}: ${error.message}` }]);
    }
  }

  function findingOf(kept: KeptCredential, text: string | undefined): Finding {
    if (text === undefined) return { problem: `the ${kept.backend} no longer has the credential "${kept.name}"` };
    const { setAt, expiresAt, hosts, previous } = kept;
    const bounds = { ...(expiresAt && { expiresAt }), ...(hosts && { hosts }), ...(env !== defaultEnv && { env }) };
    return { secret: { text, from: `the ${kept.backend}`, setAt, hasPrevious: previous !== undefined, ...bounds } };
  }

  /** The last secret that is known to be good: one that never succeeded is not worth keeping, nor is the same again. */
  async function lastGood(
    before: KeptCredential,
    secret: string,
  ): Promise<{ previous: NonNullable<KeptCredential['previous']>; text: string } | undefined> {
    const good = before.previous ?? { setAt: before.setAt, expiresAt: before.expiresAt, hosts: before.hosts };
    const account = accountOf({ ...before, ...good });
    try {
      const old = (await keeper(before.backend).read([account])).get(account);
      return old === undefined || old === secret ? undefined : { previous: good as NonNullable<KeptCredential['previous']>, text: old };
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** The first place that can be used, of those that come into question. */
  async function usable(name: string, wished: KeeperName | undefined, present: KeeperName | undefined): Promise<KeeperName> {
    const choices = choicesFor(wished, present);
    const problems: string[] = [];
    for (const choice of choices) {
      const problem = await keeper(choice).problem();
      if (problem === undefined) return choice;
      problems.push(`the ${choice} cannot be used: ${problem}`);
    }
    const only = choices.length === 1 ? choices[0] : undefined;
    throw new AutomateError('credential', ['the secret cannot be kept', ...problems, ...waysOut(name, only)].join('\n'));
  }

  async function takeAway(kept: KeptCredential, exceptSetAt?: string): Promise<void> {
    const times = [kept.setAt, ...(kept.previous ? [kept.previous.setAt] : [])].filter((setAt) => setAt !== exceptSetAt);
    await keeper(kept.backend).write(new Map(times.map((setAt) => [accountOf({ ...kept, setAt }), undefined])));
  }

  function isTakenAway(kept: KeptCredential, exceptSetAt: string | undefined): Promise<boolean> {
    return takeAway(kept, exceptSetAt).then(
      () => true,
      (error: unknown) => {
        if (isRefusal(error)) return false;
        throw error;
      },
    );
  }
}

/** Where a secret is in its keeper: each has a place of its own, and never that of another. */
function accountOf({ env, name, setAt }: Pick<KeptCredential, 'env' | 'name' | 'setAt'>): string {
  return `${env}/${name} ${setAt}`;
}

/** A credential stays where it is, and is not moved because its place cannot be reached just now. */
function choicesFor(wished: KeeperName | undefined, present: KeeperName | undefined): readonly KeeperName[] {
  return wished ? [wished] : present ? [present] : keeperNames;
}

/** Without a place of its own a secret is written nowhere. */
function waysOut(name: string, wished: KeeperName | undefined): string[] {
  const variable = credentialVariable(name);
  const vault =
    wished === 'keychain'
      ? 'keep it in the encrypted vault: --backend vault'
      : 'for the encrypted vault, set AUTOMATE_VAULT_PASSPHRASE (or AUTOMATE_VAULT_PASSPHRASE_FILE) to its passphrase';
  return [
    'two ways out:',
    `  ${vault}, and run this again`,
    `  or keep nothing here, and set ${variable} (or ${variable}_FILE) where the flow runs`,
  ];
}

function expired({ name, env, expiresAt = '' }: KeptCredential): string {
  return `the credential "${name}" expired on ${expiresAt.slice(0, 10)}\nset a new one: automate credentials set ${name}${envOption(env)}`;
}

/** Whether a keeper cannot or will not: whoever would not answer its question has called it all off. */
function isRefusal(error: unknown): error is AutomateError {
  return error instanceof AutomateError && error.kind === 'credential';
}
