import type { SecretUse } from './auth/auth-type.ts';
import type { ClientCertificate } from './auth/client-certificate.ts';
import type { LoginNeed } from './auth/login-need.ts';
import type { Problem } from './failure.ts';
import type { Step } from './node.ts';
import type { McpConnection, Tool } from './tools/tools.ts';

/** A credential that a flow names. */
export interface CredentialUse extends SecretUse {
  readonly name: string;
  /** The connection for which a person logs in; undefined for a secret that someone stores. */
  readonly login?: LoginNeed | undefined;
  /** A problem with the credential, at the place that names it. */
  problem(message: string): Problem;
}

/** A tool that a flow calls. */
export interface ToolUse {
  readonly connection: McpConnection;
  /** Checks the call against the tools that the server has. `isTable`: true if the records are known to be rows of a table. */
  check(tools: readonly Tool[], isTable: boolean): Problem[];
}

/** Something that is likely not meant. */
export interface Warning extends Problem {
  /** The input column that the warning is about; undefined if it holds for any input. */
  readonly cell?: string;
  /** True if the column may be missing: a pass makes the field for the next. */
  readonly isCarried?: boolean;
}

/** The variables of a flow. */
export interface PlanVariables {
  /** The values of the variables that it uses, by name, as JSON text. */
  readonly values: ReadonlyMap<string, string>;
  /** The variables that the callers of a server may set. */
  readonly open: ReadonlySet<string>;
  /** The open variables that must be given before it can run. Empty for a run. */
  readonly unset: ReadonlySet<string>;
  /** The place of their values in the flow's text; undefined without variables. */
  readonly range: readonly [number, number] | undefined;
}

/** Everything that a plan was compiled from, for the workers of its run. */
export interface PlanOrigin {
  readonly file: string;
  readonly text: string;
  /** The options of its compilation, as JSON. */
  readonly options: object;
}

/** A checked flow, ready to run. */
export interface Plan {
  readonly name: string;
  /** The flow's own words about what it does; undefined without any. */
  readonly description: string | undefined;
  readonly steps: readonly Step[];
  readonly credentials: readonly CredentialUse[];
  /** The client certificates of the connections that it uses. */
  readonly certificates: readonly ClientCertificate[];
  readonly tools: readonly ToolUse[];
  /** The origins that the flow names literally, even if only a credential is sent there. */
  readonly origins: readonly string[];
  /** Facts for `validate`, such as the category that words were taken for. */
  readonly notes: readonly string[];
  readonly variables: PlanVariables;
  /** Undefined for a plan that no worker can pass. */
  readonly origin?: PlanOrigin;
  /** The saved connections that it uses, as they were written. */
  readonly savedConnections: ReadonlyMap<string, object>;
  /** The fields that it reads. `any`: an expression may read any field. */
  readonly reads: { readonly fields: ReadonlySet<string>; readonly any: boolean };
  /** Each outer node with its connections as text, by its id: another text means that other rows may come out. */
  readonly makers: ReadonlyMap<string, string>;
  /** The warnings for an input with these columns; without columns, the warnings for any input. */
  warnings(input?: readonly string[]): readonly Warning[];
  /** The output's columns from the input's. */
  columns(input: readonly string[]): string[];
  /** The fields that the flow tests for null: its records may lack them. */
  nullTests(): string[];
  /** Every reference that no record with these columns can satisfy. `who`: the records that have them, in messages; by default "no record". */
  unknownFields(input: readonly string[], who?: string): Problem[];
}

/** All steps of a flow. Inner steps follow the step that holds them. */
export function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => [step, ...allSteps(step.node.inner?.steps ?? [])]);
}

/** The files whose data the steps look things up in. */
export function dataFilesOf({ steps }: Plan): string[] {
  return [...new Set(allSteps(steps).flatMap(({ node }) => node.action?.lookup?.dataFile ?? []))];
}

/** True if the flow sends or saves files. */
export function usesFiles({ steps }: Pick<Plan, 'steps'>): boolean {
  return allSteps(steps).some(({ node }) => node.action?.usesFiles);
}

/** True if records share the calls of a step. */
export function isBatched({ node }: Step): boolean {
  return node.action?.batchSize !== undefined;
}
