import type { ColumnNames } from '../core/column-names.ts';
import type { ClientCertificate, Connection } from '../core/connection.ts';
import type { Problem } from '../core/failure.ts';
import type { BuildContext, LateNodeType, LimitOverrides, Node, NodeType, SharedRows, Step } from '../core/node.ts';
import type { CredentialUse, Warning } from '../core/plan.ts';
import { isMapping, type ValuePath } from '../core/value/value.ts';
import type { FlowSource } from './source.ts';
import type { VariableChoice } from './variables.ts';

export interface CompileOptions extends LimitOverrides {
  /** For messages and for the flow's default name. */
  readonly file: string;
  /** For a flow without a `name` option; undefined to use the file's name. */
  readonly name?: string;
  readonly nodeTypes: readonly (NodeType | LateNodeType)[];
  /** If undefined, the values in the file are used, and no environment is selected. */
  readonly variables?: VariableChoice;
  readonly allowHttp: boolean;
  /** True if there is no folder for files that the flow sends or saves, and will be none later. */
  readonly withoutFiles?: boolean;
  /** True if all fields of the records are strings, as in CSV. */
  readonly textCells: boolean;
  /** True if records whose fields are all strings can be rows of a table, as in tests of a flow. */
  readonly mayBeCells?: boolean;
  /** The text, or the reason why it cannot be read. Throws DataNeeded until it is read. Undefined if the flow can name no files. */
  readonly fileText?: (path: string) => { readonly text: string } | { readonly problem: string };
  /** See `readBeside` in `BuildContext`. Undefined if the flow can name no files. */
  readonly readBeside?: BuildContext['readBeside'];
  /** For a process that reads no joined files: the rows that another process has read, by the ids of the nodes. */
  readonly sharedRows?: Readonly<Record<string, SharedRows>>;
  /** Called only if a node refers to a connection that is not in the flow. */
  readonly savedConnections?: () => Readonly<Record<string, object>>;
  /** If the flow has problems, receives its credentials, so that they can be checked, too. */
  readonly credentials?: (uses: readonly CredentialUse[]) => void;
  /** The columns of the input. If set, a reference to a field that no record can have is a problem. */
  readonly columns?: readonly string[];
  /** Fields that every record has besides the columns. */
  readonly added?: readonly string[];
}

export interface Compilation extends CompileOptions {
  readonly name: string;
  readonly names: ColumnNames;
  readonly source: FlowSource;
  readonly problems: Problem[];
  readonly warnings: Warning[];
  /** The flow's connections, and the saved ones that the nodes compiled so far refer to. */
  readonly connections: Map<string, Connection | undefined>;
  readonly saved: Map<string, object>;
  /** The texts of the files that the flow names, by their paths. */
  readonly files: Map<string, string>;
  readonly ids: Set<string>;
  readonly missing: Set<Problem>;
  /** Each certificate is mapped to the place in the flow where its connection is first named. */
  readonly certificates: Map<ClientCertificate, ValuePath>;
  readonly allowHosts: readonly string[];
  readonly literalOrigins: Set<string>;
  /** Fields filled from responses and expressions so far. Unlike the cells of a CSV input, their values have types. */
  readonly typedFields: Set<string>;
  /** Fields that the answers of a connection fill for every record, by field. */
  readonly answeredFields: Map<string, string>;
  /** All fields that the nodes compiled so far add to the record. */
  readonly madeFields: Set<string>;
  /** The nodes compiled so far that every record runs. */
  readonly passed: Node[];
  /** Fields that enclosing loops pass on to their next pass. In the first pass, a field is a CSV cell only if the input has that column. */
  readonly carried: readonly string[];
}

export interface PlacedStep extends Step {
  readonly at: ValuePath;
  readonly wrong: ReadonlySet<PropertyKey>;
}

export function mappingOf(value: unknown): Record<string, unknown> {
  return isMapping(value) ? value : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
