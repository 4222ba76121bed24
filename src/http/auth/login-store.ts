import { join } from 'node:path';
import { AutomateError, errorOf } from '../../core/failure.ts';
import type { CredentialStore } from '../../credentials/credential-store.ts';
import { variableWith } from '../../credentials/environment.ts';
import type { FlowSecrets } from '../../credentials/flow-secrets.ts';
import type { Messages } from '../../credentials/messages.ts';
import { envOf, homeFolder } from '../../files/home.ts';
import { createStateFile } from '../../files/state-file.ts';
import type { HeldLogin, LoginKeeper } from './login-tokens.ts';

/** The secret may be sent only to `host`. */
type StoreLogin = (credential: string, text: string, host: string) => Promise<void>;

interface LoginOwner {
  readonly credentials: FlowSecrets;
  readonly env: string | undefined;
}

type StoreMessages = Pick<Messages, 'redactor' | 'findAsker' | 'warn'>;

/** If the tokens cannot be stored, the function warns. The tokens still work for the current command. */
export function createLoginStore(owner: LoginOwner, messages: StoreMessages): StoreLogin {
  return async (credential, text, host) => {
    // Tokens in an environment variable are not stored. Whoever sets the variable also renews the login.
    if (isInVariable(credential)) return;
    await storeTokens(credential, { text, hosts: [host] }, owner, messages);
  };
}

/** Not yet stored, by environment and credential. `text` holds the valid tokens, `over` the outdated ones still in the store. */
const unstored = new Map<string, { readonly over: string | undefined; readonly text: string }>();

/** Wait while another process renews the login. This is enough for several timeouts of a token server that does not respond. */
const maxWaitMs = 120_000;

/** No two processes on this machine renew the same login at the same time, and new tokens are stored at once. */
export function createLoginKeeper(owner: LoginOwner, messages: StoreMessages): LoginKeeper {
  const env = envOf(owner.env);
  return {
    renewAlone(credential, work) {
      const file = createStateFile(join(homeFolder(process.env), `login-${env}-${credential}`), isLockOnly);
      return file.alone(async () => work(await heldLogin(credential, owner, messages)), maxWaitMs);
    },
  };
}

async function heldLogin(credential: string, owner: LoginOwner, messages: StoreMessages): Promise<HeldLogin> {
  const key = `${envOf(owner.env)}/${credential}`;
  const found = await currentText(credential, owner, messages);
  const newer = unstored.get(key);
  return {
    text: newer && newer.over === found ? newer.text : found,
    async store(text) {
      // Passes no hosts, so that the secret keeps the hosts stored with it.
      const isStored = !isInVariable(credential) && (await storeTokens(credential, { text }, owner, messages));
      if (isStored) unstored.delete(key);
      else unstored.set(key, { over: found, text });
    },
  };
}

/** The file is never written: its path is used only for a lock. */
function isLockOnly(_found: unknown): _found is never {
  return false;
}

function isInVariable(credential: string): boolean {
  return variableWith(credential, process.env) !== undefined;
}

async function openStore({ credentials, env }: LoginOwner, { redactor, findAsker }: StoreMessages): Promise<CredentialStore> {
  // Uses the store that is already open, because it knows the passphrase that the person typed.
  if (credentials.store) return credentials.store;
  const { openCredentials } = await import('../../credentials/credential-store.ts');
  return openCredentials(env, { redactor, findAsker });
}

/** Throws an AutomateError (`credential`) if the secret cannot be read. */
async function currentText(credential: string, owner: LoginOwner, messages: StoreMessages): Promise<string | undefined> {
  const store = await openStore(owner, messages);
  const finding = (await store.find([credential])).get(credential);
  if (finding && 'problem' in finding) throw errorOf('credential', finding.problem);
  return finding && 'secret' in finding ? finding.secret.text : undefined;
}

/** If the tokens cannot be stored, warns and returns false. */
async function storeTokens(
  credential: string,
  { text, hosts }: { readonly text: string; readonly hosts?: readonly string[] },
  owner: LoginOwner,
  messages: StoreMessages,
): Promise<boolean> {
  messages.redactor.add(text);
  try {
    const store = await openStore(owner, messages);
    await store.set(credential, text, hosts ? { hosts } : {});
    return true;
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    messages.warn(`the login "${credential}" was not stored: ${error.message}`);
    return false;
  }
}
