import { join } from 'node:path';
import { AutomateError, errorOf } from '../../core/failure.ts';
import type { HeldLogin, LoginKeeper } from '../../io/auth/login-tokens.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import { homeFolder } from '../../io/files/home.ts';
import { createStateFile } from '../../io/files/state-file.ts';
import { envOf } from '../env.ts';
import type { FlowSecrets } from '../flow/flow-secrets.ts';
import type { Messages } from '../messages.ts';
import type { CredentialStore } from './credential-store.ts';

/** Stores the tokens of a login as the secret of its credential, for the host of its server only. */
export type StoreLogin = (credential: string, text: string, host: string) => Promise<void>;

/** The secrets whose logins are storeTokens, and their environment. */
interface LoginOwner {
  readonly credentials: FlowSecrets;
  readonly env: string | undefined;
}

type StoreMessages = Pick<Messages, 'redactor' | 'findAsker' | 'warn'>;

/** Creates a store of logins. Warns if the tokens cannot be storeTokens: they still serve this command. */
export function createLoginStore(owner: LoginOwner, messages: StoreMessages): StoreLogin {
  return async (credential, text, host) => {
    // The owner of the variable renews the login.
    if (isInVariable(credential)) return;
    await storeTokens(credential, text, [host], owner, messages);
  };
}

/** Logins that could not be storeTokens, by environment and credential: the text that is storeTokens, and the one that is valid. */
const unstored = new Map<string, { readonly over: string | undefined; readonly text: string }>();

/** Longer than a token server that does not answer is waited for, several times. */
const maxWaitMs = 120_000;

/** Creates the keeper of logins: one renewal at a time on this machine, the result of which is stored at once. */
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
      // The hosts stay.
      const isStored = !isInVariable(credential) && (await storeTokens(credential, text, undefined, owner, messages));
      if (isStored) unstored.delete(key);
      else unstored.set(key, { over: found, text });
    },
  };
}

/** The file itself is never written: it only names a lock. */
function isLockOnly(_found: unknown): _found is never {
  return false;
}

function isInVariable(credential: string): boolean {
  return variableWith(credential, process.env) !== undefined;
}

async function openStore({ credentials, env }: LoginOwner, { redactor, findAsker }: StoreMessages): Promise<CredentialStore> {
  // The one that is open already knows the passphrase that someone has typed.
  if (credentials.store) return credentials.store;
  const { openCredentials } = await import('./credential-store.ts');
  return openCredentials(env, { redactor, ...(findAsker && { findAsker }) });
}

/** The text that a credential has now; undefined for none. Throws an AutomateError (`credential`) if it cannot be read. */
async function currentText(credential: string, owner: LoginOwner, messages: StoreMessages): Promise<string | undefined> {
  const store = await openStore(owner, messages);
  const finding = (await store.find([credential])).get(credential);
  if (finding && 'problem' in finding) throw errorOf('credential', finding.problem);
  return finding && 'secret' in finding ? finding.secret.text : undefined;
}

/** Stores the tokens of a login. False, with a warning, if they cannot be storeTokens. */
async function storeTokens(
  credential: string,
  text: string,
  hosts: readonly string[] | undefined,
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
    messages.warn(`the login "${credential}" was not storeTokens: ${error.message}`);
    return false;
  }
}
