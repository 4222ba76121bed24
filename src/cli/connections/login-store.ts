import { AutomateError } from '../../core/failure.ts';
import { variableWith } from '../../io/credentials/environment.ts';
import type { Redactor } from '../../io/secrets/redact.ts';

/** Keeps what came of a login as the secret of its credential, for its server's host only. */
export type StoreLogin = (credential: string, text: string, host: string) => Promise<void>;

/** Makes a keeper of logins. Where nothing can be kept, the tokens serve for this command, and that is told. */
export function createLoginStore(env: string | undefined, redactor: Redactor, warn: (message: string) => void): StoreLogin {
  return async (credential, text, host) => {
    redactor.add(text);
    // Where a variable holds it, somebody else looks after it.
    if (variableWith(credential, process.env) !== undefined) return;
    try {
      const { openCredentials } = await import('../credentials/credential-store.ts');
      await openCredentials(env, { redactor }).set(credential, text, { hosts: [host] });
    } catch (error) {
      if (!(error instanceof AutomateError)) throw error;
      warn(`the login "${credential}" was not kept: ${error.message}`);
    }
  };
}
