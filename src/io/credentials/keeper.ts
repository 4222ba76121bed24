/** A place that keeps secrets between runs. */
export interface SecretKeeper {
  readonly name: KeeperName;
  /** Why it cannot be used here and now; absent when it can. */
  problem(): Promise<string | undefined>;
  /** Asks what has to be asked, before others are kept waiting. */
  prepare?(): Promise<void>;
  /** The secrets of these accounts; those that it does not have are left out. Throws an AutomateError (`credential`). */
  read(accounts: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Keeps secrets, in this order, and takes those away that are `undefined`. Throws an AutomateError (`credential`). */
  write(changes: ReadonlyMap<string, string | undefined>): Promise<void>;
}

/** In the order in which they are preferred. */
export const keeperNames = ['keychain', 'vault'] as const;

/** Where a kept credential is. */
export type KeeperName = (typeof keeperNames)[number];
