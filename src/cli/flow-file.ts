import { FlowError } from '../core/failure.ts';
import type { CredentialUse, Plan } from '../core/plan.ts';
import { compile } from '../flow/compile.ts';
import { savedConnections } from '../io/connections.ts';
import { nodeTypes } from '../nodes/index.ts';
import { readFlowText } from './flow-text.ts';
import { problemText } from './show/problems.ts';
import type { Terminal } from './terminal.ts';

/** What the command line adds to a flow file. */
export interface FlowFileOptions {
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

/** Throws a FlowError when a reference names a field that no record can have. */
export function checkFields(plan: Plan, file: string, columns: readonly string[]): void {
  const problems = plan.unknownFields(columns);
  if (problems.length > 0) throw new FlowError(file, problems);
}

/** Prints what is likely not meant. */
export function tellWarnings(plan: Plan, file: string, { tell, colors }: Terminal): void {
  for (const warning of plan.warnings) tell(problemText(file, warning, colors, 'warning'));
}
