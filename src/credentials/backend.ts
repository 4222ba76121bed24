import { AutomateError } from '../core/failure.ts';

/** A store that keeps secrets between runs, which is either the operating system's keychain or automate's vault file. */
export interface SecretBackend {
  readonly name: BackendName;
  /** Resolves to the reason why secrets cannot be stored or read now; undefined if they can. */
  problem(): Promise<string | undefined>;
  /**
   * Asks the user for a passphrase if the backend needs one. It must be called before the list of credentials is locked, so that other
   * processes need not wait for the user.
   */
  unlock?(): Promise<void>;
  /**
   * Reads the secrets stored under these account names, and leaves out names without a secret. Throws an AutomateError (`credential`) if
   * the backend cannot be used.
   */
  read(accounts: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Stores secrets under their account names, in this order. A secret of `undefined` deletes the stored one. Throws an AutomateError
   * (`credential`) if the backend cannot be used.
   */
  write(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
}

/** The names of all stores for secrets, beginning with the preferred one. */
export const backendNames = ['keychain', 'vault'] as const;

/** The name of a store for secrets, as typed on the command line. */
export type BackendName = (typeof backendNames)[number];

/**
 * Resolves to the result of `work`. If a store for secrets cannot be used, resolves to its AutomateError (`credential`) instead. All other
 * errors are rethrown, such as the error if the user cancels a prompt.
 */
export async function orRefusal<Result>(work: Promise<Result>): Promise<Result | AutomateError> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AutomateError && error.kind === 'credential') return error;
    throw error;
  }
}
