import type { Expression } from './condition.ts';
import type { Problem } from './failure.ts';
import type { Node } from './node.ts';

/** What becomes of a record that fails at a node. */
export type OnError = 'reject' | 'keep' | 'stop';

/** A node in its place in the chain. */
export interface Step {
  readonly id: string;
  readonly type: string;
  readonly node: Node;
  /** Records for which it is false pass the node untouched; absent for all records. */
  readonly when: Expression<boolean> | undefined;
  readonly onError: OnError;
}

/** Where a flow names a credential. */
export interface CredentialUse {
  readonly name: string;
  /** Whether the secret has to be `username:password`. */
  readonly isPair: boolean;
  /** Where the secret would go, as far as that is known before the first record. */
  readonly origins: readonly string[];
  /** Something wrong with the credential, placed where it is named. */
  problem(message: string): Problem;
}

/** A checked flow, ready to run. */
export interface Plan {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly credentials: readonly CredentialUse[];
  readonly warnings: readonly Problem[];
  /** The saved connections that it uses, as they were written. */
  readonly savedConnections: ReadonlyMap<string, object>;
  /** The output's columns from the input's. */
  columns(input: readonly string[]): string[];
  /** Every reference that no record with these columns can satisfy. */
  unknownFields(input: readonly string[]): Problem[];
}
