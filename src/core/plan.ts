import type { SecretUse } from './auth/auth-type.ts';
import type { LoginNeed } from './auth/login-need.ts';
import type { ColumnNames } from './column-names.ts';
import type { EvaluationClock } from './condition/evaluation.ts';
import type { ClientCertificate } from './connection.ts';
import type { Problem } from './failure.ts';
import type { JoinedFile, Step } from './node.ts';
import type { Fields } from './record.ts';
import type { McpConnection, Tool } from './tools.ts';

export interface CredentialUse extends SecretUse {
  readonly name: string;
  /** Undefined for a secret that is not obtained by a login. */
  readonly login?: LoginNeed;
  /** Returns a problem with this message, at the position of the credential's name in the flow. */
  problem(message: string): Problem;
}

export interface ToolUse {
  readonly connection: McpConnection;
  /** `textCells` is true if the records are known to be rows of a table, in which numbers are text. */
  check(tools: readonly Tool[], textCells: boolean): Problem[];
}

/** A warning about a probable mistake in a flow. */
export interface Warning extends Problem {
  /** The input column that the warning is about; undefined if the warning applies to any input. */
  readonly cell?: string;
  /** True if the input may lack the column, because a loop creates the field for its next pass. */
  readonly isCarried?: boolean;
}

/** A column of the input that a node's map replaces. */
export interface ReplacedColumn {
  readonly node: string;
  /** The name that the column has at the node. A `set` node can have renamed it. */
  readonly field: string;
  readonly column: string;
  readonly problem: Problem;
}

export interface PlanVariables {
  /** The values of the variables that the flow uses, as JSON text, keyed by name. */
  readonly values: ReadonlyMap<string, string>;
  /** The names of the variables that callers of a flow on a server may set. */
  readonly open: ReadonlySet<string>;
  /** The names of the variables that a caller must set before the flow can run. It is empty for a run. */
  readonly unset: ReadonlySet<string>;
  /** The start and end offsets of the variables' values in the text of the flow; undefined if the flow has no variables. */
  readonly range: readonly [number, number] | undefined;
}

/** The sources that a plan was compiled from. Worker processes compile the plan again from them. */
interface PlanOrigin {
  readonly file: string;
  readonly text: string;
  /** The options with which the plan was compiled, as JSON. */
  readonly options: object;
}

/** The records that go through a flow one after another, in the order of the input (`serial_by`). */
export interface SerialOrder {
  /** The fields or the expression, for messages. */
  readonly label: string;
  /** The input fields that every record needs, and those that records can lack. */
  readonly needed: readonly string[];
  readonly optional: readonly string[];
  /** Records with the same key go one after another; a record without a key waits for no other. Throws a Failure if evaluation fails. */
  keyOf(fields: Fields, clock: EvaluationClock): string | undefined;
}

export interface Plan {
  readonly name: string;
  readonly description: string | undefined;
  readonly steps: readonly Step[];
  /** All methods take columns under either name. */
  readonly names: ColumnNames;
  /** Undefined if all records can be under way at the same time. */
  readonly serialOrder: SerialOrder | undefined;
  readonly credentials: readonly CredentialUse[];
  readonly certificates: readonly ClientCertificate[];
  readonly tools: readonly ToolUse[];
  /** The origins that are written literally in the flow, including origins to which only a credential is sent. */
  readonly origins: readonly string[];
  /** Information that `validate` prints, such as the category that words were matched with. */
  readonly notes: readonly string[];
  readonly variables: PlanVariables;
  /** Undefined for a plan that workers cannot run. */
  readonly origin?: PlanOrigin;
  /** The texts of the files that belong to the flow, such as schemas, by their paths. */
  readonly files: ReadonlyMap<string, string>;
  /** The saved connections that the flow uses, as they were written. */
  readonly savedConnections: ReadonlyMap<string, object>;
  /** `any` is true if an expression can read any field. */
  readonly reads: { readonly fields: ReadonlySet<string>; readonly any: boolean };
  /** Describes each outer node and its connections, by node id. If the string changes, the node's rows might change, too. */
  readonly makers: ReadonlyMap<string, string>;
  /** Without columns, returns the warnings that apply to any input. */
  warnings(input?: readonly string[]): readonly Warning[];
  /** Returns the columns of an input that maps replace without `replace: true`. */
  replacedColumns(input: readonly string[]): readonly ReplacedColumn[];
  columns(input: readonly string[]): string[];
  /** Returns the input fields that every record needs: the flow reads them before it adds them. */
  neededFields(): string[];
  /** Returns the fields that the flow tests for null. It is not a mistake if records lack these fields. */
  nullTests(): string[];
  /**
   * Returns a problem for every field that the flow reads although no record with these columns can have it, and for every text such as
   * `{{First Name}}` that names one of the columns but is no reference. `who` is the phrase for records of which only some are known; such
   * texts are then no problem, because the records have no header.
   */
  unknownFields(input: readonly string[], who?: string): Problem[];
  /** Like `unknownFields`, and also returns a problem for each name in `columns` that does not fit the columns' own names. */
  headerProblems(header: readonly string[]): Problem[];
}

/** Inner steps follow the step that contains them. */
export function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => [step, ...allSteps(step.node.inner?.steps ?? [])]);
}

/** Files with data for lookups, without joined files. */
export function dataFilesOf({ steps }: Pick<Plan, 'steps'>): string[] {
  return [...new Set(allSteps(steps).flatMap(({ node }) => node.action?.lookup?.dataFile ?? []))];
}

export function joinedFilesOf({ steps }: Pick<Plan, 'steps'>): JoinedFile[] {
  return allSteps(steps).flatMap(({ node }) => node.joined ?? []);
}

export function usesFiles({ steps }: Pick<Plan, 'steps'>): boolean {
  return allSteps(steps).some(({ node }) => node.action?.usesFiles);
}

/** True if several records share a call of the step. */
export function isBatched({ node }: Step): boolean {
  return node.action?.batchSize !== undefined;
}

export function columnsAfterAll(steps: readonly Step[], before: readonly string[]): string[] {
  return steps.reduce((columns, step) => columnsAfter(step, columns), [...before]);
}

/** Includes the columns before the step if a record might skip the step, or continue after it failed there. */
export function columnsAfter(step: Step, before: readonly string[]): string[] {
  const columns = step.node.columns(before);
  if (step.onError === 'keep') return [...new Set([...before, ...columns, '_error'])];
  return step.when ? [...new Set([...before, ...columns])] : columns;
}

/** The delimiter that a table seems to use instead of the configured one, because its only column name contains it. */
export function otherDelimiter(columns: readonly string[]): string | undefined {
  return columns.length === 1 ? /[;|\t]/.exec(columns[0] as string)?.[0] : undefined;
}
