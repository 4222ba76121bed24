import type { Inner, Step } from '../../core/node.ts';
import { allSteps } from '../../core/plan.ts';

/** A number that is known only within bounds. */
export interface Range {
  readonly least: number;
  /**
   * The number if every answer is a success that leads to one record, every condition after the first request is true,
   * loops and polls end after one pass, and the cache is empty at the start.
   */
  readonly expected: number;
  /** Can be infinite. */
  readonly most: number;
}

/** The load of a step, from the records so far. */
export interface StepLoad {
  /** Records that make their first call there. */
  readonly records: number;
  /** The calls that these records need at least; absent if any records can share a batch. */
  readonly calls: number | undefined;
  readonly isCached: boolean;
  /** Number of different requests among these calls, if equal requests are answered from the cache; absent if all calls are sent. */
  readonly different: number | undefined;
}

/** The calls of each step. `steps`: all steps without inner ones, in their order; `loads` belong to them. */
export function actionsOf(flow: readonly Step[], steps: readonly Step[], loads: readonly StepLoad[]): Range[] {
  const maxRecords = steps.map(() => 0);
  for (const [first, { records }] of loads.entries()) {
    if (records === 0) continue;
    const times = maxCallsAfter(flow, steps[first] as Step);
    for (const [index, step] of steps.entries()) maxRecords[index] = (maxRecords[index] as number) + records * (times.get(step) ?? 0);
  }
  let expected = 0;
  return steps.map(({ node }, index) => {
    const { records, calls, isCached, different } = loads[index] as StepLoad;
    const fromEarlier = expected;
    expected += records;
    const batchSize = node.action?.batchSize ?? 1;
    const each = node.action?.minCalls ?? 1;
    const together = calls ?? Math.ceil(records / batchSize);
    const likely = fromEarlier + (different ?? records);
    return {
      least: isCached ? 0 : together * each,
      expected: node.action ? Math.max(different === undefined ? together : 0, Math.ceil(likely / batchSize)) * each : 0,
      most: withHalving(maxRecords[index] as number, batchSize),
    };
  });
}

/** Adds up the ranges of all steps by weight. `fewest`: the number of calls after which the run may end. */
export function sumOf(ranges: readonly Range[], weightOf: (index: number) => number, fewest: number): Range {
  const total = (key: keyof Range) =>
    ranges.reduce((sum, range, index) => (range[key] === 0 || weightOf(index) === 0 ? sum : sum + range[key] * weightOf(index)), 0);
  const least = total('least');
  const cheapest = Math.min(...ranges.flatMap((range, index) => (range.least > 0 ? weightOf(index) : [])));
  return {
    least: fewest < least ? Math.min(least, fewest * cheapest) : least,
    expected: total('expected'),
    most: total('most'),
  };
}

/** A refused batch of n is halved down to single records: at most 2n - 1 requests in all. */
function withHalving(requests: number, batchSize: number): number {
  if (batchSize === 1 || !Number.isFinite(requests)) return requests;
  return requests - Math.ceil(requests / 2 / batchSize);
}

/** The maximum of calls at each step for a record that makes its first call at `first`. */
function maxCallsAfter(flow: readonly Step[], first: Step): Map<Step, number> {
  const calls = new Map<Step, number>();
  let hasCalled = false;
  visit(flow, 1);
  return calls;

  function visit(steps: readonly Step[], records: number): void {
    let rows = records;
    for (const step of steps) {
      const { action, inner } = step.node;
      // The next pass of a loop can lead to the steps before `first`, too.
      if (step === first || (inner && allSteps(inner.steps).includes(first))) hasCalled = true;
      if (!hasCalled) continue;
      if (action) calls.set(step, rows * action.maxCalls);
      if (inner) visit(inner.steps, rows * inner.maxPasses);
      rows *= growth(step);
    }
  }
}

/** The maximum of rows that one record can become at a step. */
function growth(step: Step): number {
  const { action, inner, streams } = step.node;
  // The failed record itself passes through after the rows that came out before it failed.
  const failed = step.onError === 'keep' ? 1 : 0;
  if (action?.expands) return Number.POSITIVE_INFINITY;
  if (action && streams) return action.maxCalls + failed;
  if (action) return 1;
  return inner ? growthInside(inner) + (inner.expands ? failed : 0) : 1;
}

function growthInside({ steps, expands, maxPasses }: Inner): number {
  return steps.reduce((rows, step) => rows * growth(step), expands ? maxPasses : 1);
}
