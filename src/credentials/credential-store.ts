import { join } from 'node:path';
import { envOf } from '../files/env.ts';
import { homeFolder } from '../files/home.ts';
import type { BackendName, SecretBackend } from './backend.ts';
import { openCatalog } from './catalog.ts';
import { type Credentials, createCredentials } from './credentials.ts';
import { createKeychain } from './keychain.ts';
import type { Asker, Messages } from './messages.ts';
import { createPassphrase } from './passphrase.ts';
import { Vault } from './vault.ts';

/**
 * Timeouts in ms for the keychain. The timeout with a person at the terminal is longer, because a dialog can ask the person for the
 * keychain's password.
 */
const keychainTimeoutMs = { alone: 10_000, withPerson: 120_000 };

/** The credentials of an environment, and the backends (keychain and vault) that store them. */
export interface CredentialStore extends Credentials {
  readonly env: string;
  readonly backends: Readonly<Record<BackendName, SecretBackend>>;
  /** Path of the vault, an encrypted file. */
  readonly vaultPath: string;
}

/** Opens the credentials of an environment, by default the one in AUTOMATE_ENV. Reads nothing until a credential is needed. */
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
