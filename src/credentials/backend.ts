import { AutomateError } from '../core/failure.ts';

/** Keeps secrets between runs, in the operating system's keychain or in automate's vault file. */
export interface SecretBackend {
  readonly name: BackendName;
  /** Resolves to the reason why secrets cannot be stored or read now. */
  problem(): Promise<string | undefined>;
  /** Asks for a passphrase if needed. To be called before locking the list of credentials, so that no other process waits for the user. */
  unlock?(): Promise<void>;
  /** Leaves out names without a secret. Throws an AutomateError (`credential`) if the backend cannot be used. */
  read(accounts: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Writes in this order; `undefined` deletes a secret. Throws an AutomateError (`credential`) if the backend cannot be used. */
  write(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
}

/** Begins with the preferred store. */
export const backendNames = ['keychain', 'vault'] as const;

/** A store for secrets, as typed on the command line. */
export type BackendName = (typeof backendNames)[number];

/** Resolves to the AutomateError (`credential`) if a store cannot be used. Other errors, such as a cancelled prompt, are rethrown. */
export async function orRefusal<Result>(work: Promise<Result>): Promise<Result | AutomateError> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AutomateError && error.kind === 'credential') return error;
    throw error;
  }
}
