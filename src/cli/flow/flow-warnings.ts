import type { Plan } from '../../core/plan.ts';
import { problemText } from '../show/problems.ts';
import type { Terminal } from '../terminal.ts';

/** Prints the warnings of a flow. `columns`: the input's; absent if they are not known. */
export function printWarnings(plan: Plan, file: string, { say, colors }: Terminal, columns?: readonly string[]): void {
  for (const warning of plan.warnings(columns)) say(problemText(file, warning, colors, 'warning'));
}

/** Warns of references to fields that the first records of JSON do not have. Later ones may have them. */
export function printUnknownFields(plan: Plan, file: string, { say, colors }: Terminal, fields: readonly string[]): void {
  for (const problem of plan.unknownFields(fields, 'none of the first records')) say(problemText(file, problem, colors, 'warning'));
}
