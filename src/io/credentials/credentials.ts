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

    set: (name, secret, wish) =>
      catalog().alone(async () => {
        const before = catalog().find(name, env);
        const old = before && (await secretBefore(before, secret));
        const isOldKept = old !== undefined || before?.previous !== undefined;
        const changes = new Map([...(isOldKept ? ([[previousOf(name), old]] as const) : []), [accountOf(name), secret]]);
        const backend = await writeSomewhere(name, changes, wish.backend, before?.backend);
        const hosts = wish.hosts?.includes('*') ? undefined : (wish.hosts ?? before?.hosts);
        const previous =
          old === undefined
            ? undefined
            : (before?.previous ?? { setAt: before?.setAt, expiresAt: before?.expiresAt, hosts: before?.hosts });
        const kept = {
          name,
          env,
          backend,
          setAt: now(),
          expiresAt: wish.expiresAt,
          hosts,
          lastUsedAt: before?.lastUsedAt,
          previous,
        } as KeptCredential;
        await catalog().put(kept);
        const isLeft = before !== undefined && before.backend !== backend && !(await isTakenAway(before));
        return { kept, left: isLeft ? [before.backend] : [] };
      }),

    restore: (name) =>
      catalog().alone(async () => {
        const { previous, ...kept } = known(name);
        const old = previous && (await keeper(kept.backend).read([previousOf(name)])).get(previousOf(name));
        if (!previous || old === undefined) throw new AutomateError('credential', `no secret before the present one of "${name}" is kept`);
        await keeper(kept.backend).write(
          new Map([
            [accountOf(name), old],
            [previousOf(name), undefined],
          ]),
        );
        const restored = { ...kept, ...previous, expiresAt: previous.expiresAt, hosts: previous.hosts } as KeptCredential;
        await catalog().put(restored);
        return restored;
      }),

    remove: (name, isForced) =>
      catalog().alone(async () => {
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
      }),

    async used(name, setAt) {
      const seen = catalog().find(name, env);
      if (!seen || isJustNoted(seen)) return;
      await catalog().alone(async () => {
        const kept = catalog().find(name, env);
        if (!kept) return;
        // Set anew meanwhile: what has succeeded was the one before.
        if (kept.setAt !== setAt || !kept.previous) return catalog().put({ ...kept, lastUsedAt: now() });
        await keeper(kept.backend).write(new Map([[previousOf(name), undefined]]));
        const { previous: _, ...rest } = kept;
        await catalog().put({ ...rest, lastUsedAt: now() });
      });
    },
  };

  function isJustNoted({ previous, lastUsedAt }: KeptCredential): boolean {
    return !previous && lastUsedAt !== undefined && tools.wallNow() - Date.parse(lastUsedAt) < usedEveryMs;
  }

  function accountOf(name: string): string {
    return `${env}/${name}`;
  }

  function previousOf(name: string): string {
    return `${env}/${name}/previous`;
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
      const secrets = await from.read(wanted.map(({ name }) => accountOf(name)));
      return wanted.map((kept) => [kept.name, findingOf(kept, secrets.get(accountOf(kept.name)))]);
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

  /** The last secret that is known to be good: one that never succeeded is not worth keeping. */
  async function secretBefore(before: KeptCredential, secret: string): Promise<string | undefined> {
    const account = before.previous ? previousOf(before.name) : accountOf(before.name);
    try {
      const old = (await keeper(before.backend).read([account])).get(account);
      return old === secret ? undefined : old;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  async function writeSomewhere(
    name: string,
    changes: ReadonlyMap<string, string | undefined>,
    wished: KeeperName | undefined,
    present: KeeperName | undefined,
  ): Promise<KeeperName> {
    const choices = wished ? [wished] : [...new Set([...(present ? [present] : []), ...keeperNames])];
    const problems: string[] = [];
    for (const choice of choices) {
      const problem = choice === 'vault' ? await keeper(choice).problem() : undefined;
      if (problem !== undefined) problems.push(`the ${choice} cannot be used: ${problem}`);
      else {
        try {
          await keeper(choice).write(changes);
          return choice;
        } catch (error) {
          if (!isRefusal(error)) throw error;
          problems.push(error.message);
        }
      }
    }
    throw new AutomateError('credential', ['the secret cannot be kept', ...problems, ...waysOut(name, wished)].join('\n'));
  }

  async function takeAway({ name, backend }: KeptCredential): Promise<void> {
    await keeper(backend).write(
      new Map([
        [accountOf(name), undefined],
        [previousOf(name), undefined],
      ]),
    );
  }

  function isTakenAway(kept: KeptCredential): Promise<boolean> {
    return takeAway(kept).then(
      () => true,
      (error: unknown) => {
        if (isRefusal(error)) return false;
        throw error;
      },
    );
  }
}

function expired({ name, env, expiresAt = '' }: KeptCredential): string {
  return `the credential "${name}" expired on ${expiresAt.slice(0, 10)}\nset a new one: automate credentials set ${name}${envOption(env)}`;
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

/** Whether a keeper cannot or will not: whoever would not answer its question has called it all off. */
function isRefusal(error: unknown): error is AutomateError {
  return error instanceof AutomateError && error.kind === 'credential';
}
