import type { Step } from './node.ts';

/** The columns behind some steps, from those before them. */
export function columnsBehind(steps: readonly Step[], before: readonly string[]): string[] {
  return steps.reduce((columns, step) => columnsAfter(step, columns), [...before]);
}

/** The columns behind one step. What a record may pass by leaves those before it: a record that did so still has them all. */
export function columnsAfter(step: Step, before: readonly string[]): string[] {
  const columns = step.node.columns(before);
  if (step.onError === 'keep') return [...new Set([...before, ...columns, '_error'])];
  return step.when ? [...new Set([...before, ...columns])] : columns;
}

/** What to pass where the header of a file with another delimiter was read as one name; absent where it does not look so. */
export function delimiterAdvice(columns: readonly string[]): string | undefined {
  const [delimiter] = columns.length === 1 ? (/[;|\t]/.exec(columns[0] as string) ?? []) : [];
  if (delimiter === undefined) return undefined;
  return delimiter === '\t'
    ? 'if tabs separate the cells: --delimiter tab'
    : `if "${delimiter}" separates the cells: --delimiter '${delimiter}'`;
}
