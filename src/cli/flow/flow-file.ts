import { FlowError } from '../../core/failure.ts';
import type { LimitOverrides } from '../../core/node.ts';
import type { CredentialUse, Plan } from '../../core/plan.ts';
import { compile } from '../../flow/compile.ts';
import { savedConnections } from '../../io/connections.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { columnsOf, type InputOptions } from '../input-options.ts';
import { problemText } from '../show/problems.ts';
import type { Terminal } from '../terminal.ts';
import { readFlowText } from './flow-text.ts';

/** What the command line adds to a flow file. */
export interface FlowFileOptions extends LimitOverrides {
  readonly allowHttp: boolean;
  readonly textCells: boolean;
  readonly columns?: readonly string[] | undefined;
  /** Takes the credentials that a flow names which is not valid elsewhere. */
  readonly credentials?: (uses: readonly CredentialUse[]) => void;
}

/** Reads and compiles a flow file. Throws a FlowError. */
export async function loadFlow(file: string, options: FlowFileOptions): Promise<Plan> {
  const text = await readFlowText(file);
  return compile(text, { file, nodeTypes, savedConnections: () => savedConnections(process.env), ...options });
}

/**
 * The same before an input's records are read: of a flow that is wrong it tells what is wrong with the references to the input, too.
 * `added`: the fields that every record has besides.
 */
export async function loadFlowFor(
  input: InputOptions,
  file: string,
  options: FlowFileOptions,
  added: readonly string[] = [],
): Promise<Plan> {
  try {
    return await loadFlow(file, options);
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    // Nobody waits for a stream to hear that a flow is wrong.
    const { columns } = input.in === '-' ? {} : await columnsOf(input);
    if (columns) await loadFlow(file, { ...options, columns: [...columns, ...added] });
    throw error;
  }
}

/** Throws a FlowError when a reference names a field that no record can have. */
export function checkFields(plan: Plan, file: string, columns: readonly string[]): void {
  const problems = plan.unknownFields(columns);
  if (problems.length > 0) throw new FlowError(file, problems);
}

/** Prints the warnings of a flow. `columns`: the input's; absent if they are not known. */
export function printWarnings(plan: Plan, file: string, { say, colors }: Terminal, columns?: readonly string[]): void {
  for (const warning of plan.warnings(columns)) say(problemText(file, warning, colors, 'warning'));
}
