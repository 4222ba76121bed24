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

/** The option for a file whose header seems to use another delimiter; undefined if it does not. */
export function delimiterAdvice(columns: readonly string[]): string | undefined {
  const [delimiter] = columns.length === 1 ? (/[;|\t]/.exec(columns[0] as string) ?? []) : [];
  if (delimiter === undefined) return undefined;
  return delimiter === '\t'
    ? 'if tabs separate the cells: --delimiter tab'
    : `if "${delimiter}" separates the cells: --delimiter '${delimiter}'`;
}
