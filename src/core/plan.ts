import type { SecretUse } from './auth/auth-type.ts';
import type { Problem } from './failure.ts';
import type { Step } from './node.ts';
import type { McpConnection, Tool } from './tools/tools.ts';

/** Where a flow names a credential. */
export interface CredentialUse extends SecretUse {
  readonly name: string;
  /** Something wrong with the credential, placed where it is named. */
  problem(message: string): Problem;
}

/** Where a flow calls a tool. */
export interface ToolUse {
  readonly connection: McpConnection;
  /** What is wrong there, seen from the tools that the server has. `isTable`: whether the records are known to be rows of a table. */
  check(tools: readonly Tool[], isTable: boolean): Problem[];
}

/** Something that is likely not meant. */
export interface Warning extends Problem {
  /** The column of the input without which it does not hold; absent where it always does. */
  readonly cell?: string;
  /** Whether there need be no such column: a pass makes the field for the next. */
  readonly isCarried?: boolean;
}

/** A checked flow, ready to run. */
export interface Plan {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly credentials: readonly CredentialUse[];
  readonly tools: readonly ToolUse[];
  /** The saved connections that it uses, as they were written. */
  readonly savedConnections: ReadonlyMap<string, object>;
  /** What is likely not meant. `input`: its columns; absent where nobody knows them. */
  warnings(input?: readonly string[]): readonly Warning[];
  /** The output's columns from the input's. */
  columns(input: readonly string[]): string[];
  /** Every reference that no record with these columns can satisfy. */
  unknownFields(input: readonly string[]): Problem[];
}

/** All steps of a flow, those inside others behind the one that holds them. */
export function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => [step, ...allSteps(step.node.inner?.steps ?? [])]);
}

/** Whether a step asks for many records with one call. */
export function isBatched({ node }: Step): boolean {
  return node.action?.batchSize !== undefined;
}
