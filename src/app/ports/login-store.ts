import { AutomateError } from '../../core/failure.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import type { Redactor } from '../../io/secrets/redact.ts';

/** Stores the tokens of a login as the secret of its credential, for the host of its server only. */
export type StoreLogin = (credential: string, text: string, host: string) => Promise<void>;

/** Creates a store of logins. Warns if the tokens cannot be stored: they still serve this command. */
export function createLoginStore(env: string | undefined, redactor: Redactor, warn: (message: string) => void): StoreLogin {
  return async (credential, text, host) => {
    redactor.add(text);
    // The owner of the variable renews the login.
    if (variableWith(credential, process.env) !== undefined) return;
    try {
      const { openCredentials } = await import('./credential-store.ts');
      await openCredentials(env, { redactor }).set(credential, text, { hosts: [host] });
    } catch (error) {
      if (!(error instanceof AutomateError)) throw error;
      warn(`the login "${credential}" was not stored: ${error.message}`);
    }
  };
}
