import type { Step } from './node.ts';

/** The columns after some steps, from the columns before them. */
export function columnsAfterAll(steps: readonly Step[], before: readonly string[]): string[] {
  return steps.reduce((columns, step) => columnsAfter(step, columns), [...before]);
}

/** The columns after one step. A record that skips it keeps the columns it had. */
export function columnsAfter(step: Step, before: readonly string[]): string[] {
  const columns = step.node.columns(before);
  if (step.onError === 'keep') return [...new Set([...before, ...columns, '_error'])];
  return step.when ? [...new Set([...before, ...columns])] : columns;
}

/** The delimiter that a header seems to use instead; undefined if it has several columns. */
export function otherDelimiter(columns: readonly string[]): string | undefined {
  return columns.length === 1 ? /[;|\t]/.exec(columns[0] as string)?.[0] : undefined;
}
