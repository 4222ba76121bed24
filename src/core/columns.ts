import type { Step } from './node.ts';

/** Returns the columns of the records after some steps, computed from the columns before them. */
export function columnsAfterAll(steps: readonly Step[], before: readonly string[]): string[] {
  return steps.reduce((columns, step) => columnsAfter(step, columns), [...before]);
}

/**
 * Returns the columns of the records after one step. They include the columns before the step if a record might skip the step, or continue
 * after it failed there.
 */
export function columnsAfter(step: Step, before: readonly string[]): string[] {
  const columns = step.node.columns(before);
  if (step.onError === 'keep') return [...new Set([...before, ...columns, '_error'])];
  return step.when ? [...new Set([...before, ...columns])] : columns;
}

/**
 * Returns the delimiter that a table seems to use instead of the configured one, because its only column name contains it. Returns
 * undefined for any other table.
 */
export function otherDelimiter(columns: readonly string[]): string | undefined {
  return columns.length === 1 ? /[;|\t]/.exec(columns[0] as string)?.[0] : undefined;
}
