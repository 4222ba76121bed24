import type { Inner, Step } from '../../core/node.ts';
import { allSteps } from '../../core/plan.ts';
import type { Range } from './range.ts';

/** What is known of a step. */
export interface Reached {
  /** How many records make their first call there. */
  readonly records: number;
  /** How many calls these are at least; absent where batches hold whoever comes. */
  readonly calls: number | undefined;
  readonly isCached: boolean;
}

/** How often each step acts. `steps`: all those that hold no others, in their order. */
export function actionsOf(flow: readonly Step[], steps: readonly Step[], reached: readonly Reached[]): Range[] {
  const most = steps.map(() => 0);
  for (const [first, { records }] of reached.entries()) {
    if (records === 0) continue;
    const times = mostBehind(flow, steps[first] as Step);
    for (const [index, step] of steps.entries()) most[index] = (most[index] as number) + records * (times.get(step) ?? 0);
  }
  let expected = 0;
  return steps.map(({ node }, index) => {
    const { records, calls, isCached } = reached[index] as Reached;
    expected += records;
    const batchSize = node.action?.batchSize ?? 1;
    const together = calls ?? Math.ceil(records / batchSize);
    return {
      least: isCached ? 0 : together,
      expected: node.action ? Math.max(together, Math.ceil(expected / batchSize)) : 0,
      most: mostCalls(most[index] as number, batchSize),
    };
  });
}

/** Of a batch that is refused there are as many requests again as records, but for one: it is halved until each stands alone. */
function mostCalls(most: number, batchSize: number): number {
  if (batchSize === 1 || !Number.isFinite(most)) return most;
  return most - Math.ceil(most / 2 / batchSize);
}

/** How often each step acts at most on a record that makes its first call at `first`. */
function mostBehind(flow: readonly Step[], first: Step): Map<Step, number> {
  const times = new Map<Step, number>();
  let isBehind = false;
  visit(flow, 1);
  return times;

  function visit(steps: readonly Step[], records: number): void {
    let rows = records;
    for (const step of steps) {
      const { action, inner } = step.node;
      // In the next pass the record may come to the nodes before it, too.
      if (step === first || (inner && allSteps(inner.steps).includes(first))) isBehind = true;
      if (!isBehind) continue;
      if (action) times.set(step, rows * action.mostCalls);
      if (inner) visit(inner.steps, rows * inner.mostPasses);
      rows *= growth(step);
    }
  }
}

/** How many records one record can become at a step. */
function growth(step: Step): number {
  const { action, inner, streams } = step.node;
  // Behind those that went on before it failed.
  const kept = step.onError === 'keep' ? 1 : 0;
  if (action?.expands) return Number.POSITIVE_INFINITY;
  if (action && streams) return action.mostCalls + kept;
  if (action) return 1;
  return inner ? growthInside(inner) + (inner.expands ? kept : 0) : 1;
}

function growthInside({ steps, expands, mostPasses }: Inner): number {
  return steps.reduce((rows, step) => rows * growth(step), expands ? mostPasses : 1);
}
