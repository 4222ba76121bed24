import type { Step } from './node.ts';

/** The columns behind some steps, from those before them. */
export function columnsBehind(steps: readonly Step[], before: readonly string[]): string[] {
  return steps.reduce((columns, step) => columnsAfter(step, columns), [...before]);
}

/** The columns behind one step. */
export function columnsAfter(step: Step, before: readonly string[]): string[] {
  const columns = step.node.columns(before);
  return step.onError === 'keep' ? [...new Set([...columns, '_error'])] : columns;
}
