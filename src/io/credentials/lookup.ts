import { createEnvironmentCredentials } from './environment.ts';

/** One place where credentials are kept. */
export interface CredentialStore {
  /** The secret of that name; `undefined` when it is not kept here. Throws an AutomateError when the place cannot be read. */
  find(name: string): Promise<string | undefined>;
}

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
