import { AutomateError } from '../../core/failure.ts';

/** A place that stores secrets between runs. */
export interface SecretBackend {
  readonly name: BackendName;
  /** The reason why it cannot be used here and now; absent if it can. */
  problem(): Promise<string | undefined>;
  /** Asks the user for a passphrase if the backend needs one, before a lock makes other processes wait. */
  unlock?(): Promise<void>;
  /** The secrets of these accounts. Accounts without a secret are left out. Throws an AutomateError (`credential`). */
  read(accounts: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Stores secrets in this order; `undefined` deletes one. Throws an AutomateError (`credential`). */
  write(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
}

/** All backends, the preferred backend first. */
export const backendNames = ['keychain', 'vault'] as const;

/** A backend as the command line names it. */
export type BackendName = (typeof backendNames)[number];

/** Resolves to the result of `work`, or to the error with which the backend refuses it. Rethrows any other error: a user who cancels a prompt ends the command. */
export async function orRefusal<Result>(work: Promise<Result>): Promise<Result | AutomateError> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AutomateError && error.kind === 'credential') return error;
    throw error;
  }
}
