import { FlowError, type Problem } from '../../src/core/failure.ts';
import type { Plan } from '../../src/core/plan.ts';
import { compile } from '../../src/flow/compile.ts';
import type { VariableChoice } from '../../src/flow/variables.ts';
import { nodeTypes } from './node-types.ts';

/** The options with which a test checks a flow. */
export interface CheckOptions {
  readonly allowHttp?: boolean;
  /** The names in the header row of the input. */
  readonly header?: readonly string[];
  readonly variables?: VariableChoice;
}

/** Compiles a flow for the rows of a CSV file. */
export function planFor(yaml: string, { allowHttp = false, header, variables }: CheckOptions = {}): Plan {
  return compile(yaml, { file: 'flow.yaml', nodeTypes, allowHttp, textCells: true, columns: header, variables });
}

/** Returns the problems of a flow in the order in which they are reported; empty for a valid flow. */
export function flowProblems(yaml: string, options: CheckOptions = {}): readonly Problem[] {
  try {
    planFor(yaml, options);
    return [];
  } catch (error) {
    if (error instanceof FlowError) return error.problems;
    throw error;
  }
}

/** Returns a problem on one line: `LINE:COLUMN message`. */
export function onOneLine({ line, column, message }: Problem): string {
  return `${line}:${column} ${message.split('\n')[0]}`;
}

/** Returns a problem as it is displayed: the position, the message, the line of the flow, and a caret. */
export function shown(problem: Problem): string {
  const { text, caret, width } = problem.source ?? { text: '', caret: 0, width: 0 };
  return [onOneLine(problem), text, ' '.repeat(caret) + '^'.repeat(width)].join('\n');
}
