import { createEnvironmentCredentials } from './environment.ts';
import type { CredentialStore } from './store.ts';

/** Makes the look-up of credentials: every place, in the order in which they are asked. */
export function createCredentials(environment: NodeJS.ProcessEnv): CredentialStore {
  const stores: CredentialStore[] = [createEnvironmentCredentials(environment)];
  return {
    async find(name) {
      for (const store of stores) {
        const secret = await store.find(name);
        if (secret !== undefined) return secret;
      }
      return undefined;
    },
  };
}
