import type { ClientCertificate } from '../core/auth/client-certificate.ts';
import type { Connection } from '../core/connection.ts';
import type { Problem } from '../core/failure.ts';
import type { CategoryNames } from '../core/lookups/category.ts';
import type { LimitOverrides, Node, NodeType, Step } from '../core/node.ts';
import type { CredentialUse, Warning } from '../core/plan.ts';
import { isMapping } from '../core/value/value.ts';
import type { At, Source } from './source.ts';
import type { VariableChoice } from './variables/variables.ts';

/** The settings that the command line adds to a flow. */
export interface CompileOptions extends LimitOverrides {
  /** The flow's file, for messages and as its default name. */
  readonly file: string;
  /** The name of a flow without a `name`. Undefined: the name of its file. */
  readonly name?: string | undefined;
  readonly nodeTypes: readonly NodeType[];
  /** The values of the flow's variables; undefined for those in its file, without an environment. */
  readonly variables?: VariableChoice | undefined;
  readonly allowHttp: boolean;
  /** True if there is no folder for files, and none will be named. */
  readonly withoutFiles?: boolean | undefined;
  /** True if all fields of the records are texts, as in CSV. */
  readonly textCells: boolean;
  /** Loads the saved connections by name. Called only if a node names a connection that the flow does not have. */
  readonly savedConnections?: () => Readonly<Record<string, object>>;
  /** Finds the category that words name. Undefined if no flow may name one. What it throws ends the compilation. */
  readonly categories?: CategoryNames | undefined;
  /** Gets the credentials of a flow that has problems elsewhere. */
  readonly credentials?: ((uses: readonly CredentialUse[]) => void) | undefined;
  /** The input's columns. With them, references that no record can satisfy are problems. */
  readonly columns?: readonly string[] | undefined;
}

/** The state of a compilation. */
export interface Compilation extends CompileOptions {
  readonly name: string;
  readonly source: Source;
  readonly problems: Problem[];
  readonly warnings: Warning[];
  /** The flow's own connections, and the saved ones that nodes have named so far. */
  readonly connections: Map<string, Connection | undefined>;
  /** The saved connections that the flow uses, as they were written. */
  readonly saved: Map<string, object>;
  /** The ids of the nodes so far. */
  readonly ids: Set<string>;
  /** Problems with connections that do not exist. */
  readonly missing: Set<Problem>;
  /** The client certificates of the connections that nodes have named so far, with the place that named each first. */
  readonly certificates: Map<ClientCertificate, At>;
  readonly allowHosts: readonly string[];
  readonly literalOrigins: Set<string>;
  /** Fields that the nodes so far add from answers and expressions: they are not cells of the input. */
  readonly typedFields: Set<string>;
  /** All fields that the nodes so far add. */
  readonly madeFields: Set<string>;
  /** The nodes so far that every record passes. */
  readonly passed: Node[];
  /** Fields that enclosing loops carry into later passes. In the first pass they are CSV cells only if the input has that column. */
  readonly carried: readonly string[];
}

/** A step and its place in the file. */
export interface PlacedStep extends Step {
  readonly at: At;
  /** The options that have problems. */
  readonly wrong: ReadonlySet<PropertyKey>;
}

/** The value if it is a mapping, else an empty one. */
export function mappingOf(value: unknown): Record<string, unknown> {
  return isMapping(value) ? value : {};
}

/** The value if it is a list, else an empty one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
