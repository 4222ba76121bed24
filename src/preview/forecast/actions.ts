import type { Inner, Step } from '../../core/node.ts';
import { allSteps } from '../../core/plan.ts';

export interface Range {
  readonly least: number;
  /**
   * The number under these assumptions: every response is successful and becomes one record. Every condition after the first request is
   * true. Loops and polls end after one pass. The cache is empty at the start.
   */
  readonly expected: number;
  /** The upper bound, which can be infinite. */
  readonly most: number;
}

/** The load of one step, according to the records that have been read so far. */
interface StepLoad {
  readonly records: number;
  /** Minimum number of calls. Undefined if any records can share a batch, so that it follows from the batch size. */
  readonly calls: number | undefined;
  readonly isCached: boolean;
  /** Number of distinct requests among the first calls. The cache answers the others. Undefined if every call is sent. */
  readonly different: number | undefined;
}

/** `steps` are all steps in order, except those that contain other steps. `loads` has one entry for each of them. */
export function actionsOf(flow: readonly Step[], steps: readonly Step[], loads: readonly StepLoad[]): Range[] {
  const maxRecords = steps.map(() => 0);
  for (const [first, { records }] of loads.entries()) {
    if (records === 0) continue;
    const times = maxCallsAfter(flow, steps[first] as Step);
    for (const [index, step] of steps.entries()) maxRecords[index] = (maxRecords[index] as number) + records * (times.get(step) ?? 0);
  }
  const earlier = recordsBefore(flow, new Map(steps.map((step, index) => [step, (loads[index] as StepLoad).records])));
  return steps.map((step, index) => {
    const { node } = step;
    const { records, calls, isCached, different } = loads[index] as StepLoad;
    const fromEarlier = earlier.get(step) as number;
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

/** Returns for each step how many of the records that made their first call at earlier steps are expected there. */
function recordsBefore(flow: readonly Step[], firstCalls: ReadonlyMap<Step, number>): Map<Step, number> {
  const before = new Map<Step, number>();
  visit(flow, 0);
  return before;

  /** Returns the number of records that have called when they leave the steps. */
  function visit(steps: readonly Step[], called: number): number {
    let now = called;
    for (const step of steps) {
      const { inner } = step.node;
      before.set(step, now);
      // Only the first alternative is expected to be asked: it finds everything.
      if (inner?.areAlternatives) now = inner.steps.reduce((sum, each, index) => sum + visit([each], index === 0 ? now : 0), 0);
      else now = (inner ? visit(inner.steps, now) : now) + (firstCalls.get(step) ?? 0);
    }
    return now;
  }
}

/** Weights each range. `fewest` is the smallest number of calls after which failures might end the run. */
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

/** A refused batch of n records is halved, down to single records, which takes at most 2n - 1 requests. */
function withHalving(requests: number, batchSize: number): number {
  if (batchSize === 1 || !Number.isFinite(requests)) return requests;
  return requests - Math.ceil(requests / 2 / batchSize);
}

/** Returns the maximum number of calls that a record makes at each step if its first call is at the step `first`. */
function maxCallsAfter(flow: readonly Step[], first: Step): Map<Step, number> {
  const calls = new Map<Step, number>();
  let hasCalled = false;
  visit(flow, 1);
  return calls;

  function visit(steps: readonly Step[], records: number): void {
    let rows = records;
    for (const step of steps) {
      const { action, inner } = step.node;
      // The steps before `first` in the same loop count, too, because the next pass might reach them.
      if (step === first || (inner && !inner.areAlternatives && allSteps(inner.steps).includes(first))) hasCalled = true;
      if (!hasCalled && !inner?.areAlternatives) continue;
      if (action) calls.set(step, rows * action.maxCalls);
      if (inner) visit(inner.steps, rows * inner.maxPasses);
      rows *= growth(step);
    }
  }
}

/** Returns the maximum number of rows that one record can become at a step. */
function growth(step: Step): number {
  const { action, inner, streams } = step.node;
  // If the step fails after it has emitted rows, the record itself continues as an extra row.
  const failed = step.onError === 'keep' ? 1 : 0;
  if (action?.expands) return Number.POSITIVE_INFINITY;
  if (action && streams) return action.maxCalls + failed;
  if (action) return 1;
  return inner ? growthInside(inner) + (inner.expands ? failed : 0) : 1;
}

function growthInside({ steps, expands, maxPasses }: Inner): number {
  return steps.reduce((rows, step) => rows * growth(step), expands ? maxPasses : 1);
}
