import type { ClientCertificate, Connection } from '../core/connection.ts';
import type { Problem } from '../core/failure.ts';
import type { LimitOverrides, Node, NodeType, Step } from '../core/node.ts';
import type { CredentialUse, Warning } from '../core/plan.ts';
import { isMapping } from '../core/value/value.ts';
import type { At, FlowSource } from './source.ts';
import type { VariableChoice } from './variables.ts';

/** Settings for compiling a flow, apart from the flow file itself. */
export interface CompileOptions extends LimitOverrides {
  /** The path of the flow file, for messages and for the flow's default name. */
  readonly file: string;
  /** The name of a flow that has no `name` option; undefined to use the file's name. */
  readonly name?: string | undefined;
  readonly nodeTypes: readonly NodeType[];
  /** The values to use for the flow's variables. If undefined, the values in the file are used, and no environment is selected. */
  readonly variables?: VariableChoice | undefined;
  readonly allowHttp: boolean;
  /** True if there is no folder for files that the flow sends or saves, and will be none later. */
  readonly withoutFiles?: boolean | undefined;
  /** True if all fields of the records are strings, as in CSV. */
  readonly textCells: boolean;
  /** Loads the saved connections, keyed by name. Called only if a node refers to a connection that is not in the flow. */
  readonly savedConnections?: () => Readonly<Record<string, object>>;
  /** If the flow has problems, receives the credentials that it uses, so that they can be checked, too. */
  readonly credentials?: ((uses: readonly CredentialUse[]) => void) | undefined;
  /** The columns of the input. If set, a reference to a field that no record can have is a problem. */
  readonly columns?: readonly string[] | undefined;
}

/** The state while a flow is being compiled. */
export interface Compilation extends CompileOptions {
  readonly name: string;
  readonly source: FlowSource;
  readonly problems: Problem[];
  readonly warnings: Warning[];
  /** The connections in the flow, and the saved connections that the nodes compiled so far refer to. */
  readonly connections: Map<string, Connection | undefined>;
  /** The saved connections that the flow uses, as they were written. */
  readonly saved: Map<string, object>;
  /** The ids of the nodes that have been compiled so far. */
  readonly ids: Set<string>;
  /** Problems that report a connection which does not exist. */
  readonly missing: Set<Problem>;
  /**
   * The client certificates of the connections used so far. Each is mapped to the place in the flow where its connection is first named.
   */
  readonly certificates: Map<ClientCertificate, At>;
  readonly allowHosts: readonly string[];
  readonly literalOrigins: Set<string>;
  /**
   * The fields that the nodes compiled so far fill from responses and expressions. Unlike the cells of a CSV input, their values have
   * types.
   */
  readonly typedFields: Set<string>;
  /** All fields that the nodes compiled so far add to the record. */
  readonly madeFields: Set<string>;
  /** The nodes compiled so far that every record runs. */
  readonly passed: Node[];
  /**
   * The fields that enclosing loops pass on to their next pass. In the first pass, such a field is a CSV cell only if the input has that
   * column.
   */
  readonly carried: readonly string[];
}

/** A compiled node, and its path in the flow file. */
export interface PlacedStep extends Step {
  readonly at: At;
  /** The options of the node that have problems. */
  readonly wrong: ReadonlySet<PropertyKey>;
}

/** Returns the value if it is a mapping, otherwise an empty mapping. */
export function mappingOf(value: unknown): Record<string, unknown> {
  return isMapping(value) ? value : {};
}

/** Returns the value if it is a list, otherwise an empty list. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
