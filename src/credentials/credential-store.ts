import { join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { envOf, homeFolder } from '../files/home.ts';
import { statOf } from '../files/stat.ts';
import type { BackendName, SecretBackend } from './backend.ts';
import { openCatalog } from './catalog.ts';
import { type Credentials, createCredentials } from './credentials.ts';
import { oneLine, readSecretFile } from './environment.ts';
import { createKeychain } from './keychain.ts';
import type { Asker, Messages } from './messages.ts';
import { type Passphrase, Vault } from './vault.ts';

/** The timeout is longer with a person at the terminal, because a dialog can ask for the keychain's password. */
const keychainTimeoutMs = { alone: 10_000, withPerson: 120_000 };

/** The credentials of an environment, and the keychain and vault that store them. */
export interface CredentialStore extends Credentials {
  readonly env: string;
  readonly backends: Readonly<Record<BackendName, SecretBackend>>;
  readonly vaultPath: string;
}

/** By default, uses the environment in AUTOMATE_ENV. Reads nothing until a credential is needed. */
export function openCredentials(
  env: string | undefined,
  { redactor, warn, findAsker }: Pick<Messages, 'redactor' | 'findAsker'> & Partial<Pick<Messages, 'warn'>>,
): CredentialStore {
  const home = homeFolder(process.env);
  const asker = findAsker?.();
  const passphrase = createPassphrase(process.env, asker && ((...how) => askPassphrase(asker, ...how)), warn);
  const vaultPath = join(home, 'vault.json');
  const backends: Record<BackendName, SecretBackend> = {
    keychain: createKeychain({
      service: `automate ${home}`,
      environment: process.env,
      timeoutMs: asker ? keychainTimeoutMs.withPerson : keychainTimeoutMs.alone,
    }),
    vault: new Vault(vaultPath, {
      ...passphrase,
      async get(isNew) {
        const text = await passphrase.get(isNew);
        redactor.add(text);
        return text;
      },
    }),
  };
  const chosen = envOf(env);
  const credentials = createCredentials({
    env: chosen,
    environment: process.env,
    catalog: () => openCatalog(join(home, 'credentials.json')),
    backend: (name) => backends[name],
    wallNow: Date.now,
  });
  return { ...credentials, env: chosen, backends, vaultPath };
}

async function askPassphrase(asker: Asker, isNew: boolean, isAgain: boolean): Promise<string> {
  if (!isNew) return asker.secret(isAgain ? 'That is not the passphrase. Passphrase of the vault' : 'Passphrase of the vault');
  const first = await asker.secret('Choose a passphrase for the new vault (without it, its secrets are lost)');
  await asker.secret('Repeat it', (again) => (again === first ? undefined : 'the two passphrases differ'));
  return first;
}

const variable = 'AUTOMATE_VAULT_PASSPHRASE';

const noPassphrase = `there is no passphrase\nset ${variable}, or ${variable}_FILE to the name of a file that contains it`;

/** Returns a file's permissions, such as `0644`, if other users can access the file. */
export function modeOthersCanRead(file: string): string | undefined {
  const mode = statOf(file)?.mode ?? 0;
  if (process.platform === 'win32' || (mode & 0o077) === 0) return undefined;
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/**
 * The passphrase is in a variable or a file, or the user types it. `ask` is undefined without a terminal. `warn` is called if other users
 * can read the passphrase's file.
 */
export function createPassphrase(
  environment: NodeJS.ProcessEnv,
  ask?: (isNew: boolean, isAgain: boolean) => Promise<string>,
  warn?: (text: string) => void,
): Passphrase {
  let typed: Promise<string> | undefined;
  let isAgain = false;
  let isWarned = false;
  const isGiven = () => Boolean(environment[variable] || environment[`${variable}_FILE`]);
  return {
    isGiven,
    source() {
      if (environment[variable]) return variable;
      return isGiven() ? `the file in ${variable}_FILE` : 'what was typed';
    },
    problem: () => (isGiven() || ask ? undefined : noPassphrase),
    async get(isNew) {
      const given = environment[variable];
      if (given) return oneLine(given, variable);
      const file = environment[`${variable}_FILE`];
      if (file) {
        const mode = modeOthersCanRead(file);
        if (mode !== undefined && !isWarned)
          warn?.(`other users can read ${file}, which contains the vault's passphrase (mode ${mode})\nchange that: chmod 600 ${file}`);
        isWarned = true;
        return readSecretFile(file, `${variable}_FILE`);
      }
      if (!ask) throw new AutomateError('credential', `the vault cannot be opened: ${noPassphrase}`);
      typed ??= ask(isNew, isAgain);
      return typed;
    },
    forget() {
      if (!typed) return false;
      typed = undefined;
      isAgain = true;
      return true;
    },
  };
}
