/** One place where credentials are kept. */
export interface CredentialStore {
  /** The secret of that name; `undefined` when it is not kept here. Throws an AutomateError when the place cannot be read. */
  find(name: string): Promise<string | undefined>;
}
