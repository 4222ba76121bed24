import type { ActionRequest, Step } from '../../core/node.ts';
import { gateKey } from '../gate.ts';
import type { Sketch } from './probe.ts';
import type { Range } from './range.ts';

/** So long a request is taken to last. */
const latencyMs = 200;

/** How long a run will take at least, and what makes it so slow: the rate at an origin, or how many requests are in flight at once. */
export type Duration = { readonly ms: number } & (
  | { readonly by: 'rate'; readonly intervalMs: number; readonly origin: string }
  | { readonly by: 'concurrency'; readonly atOnce: number; readonly latencyMs: number }
);

/** What the gates will have to let through. */
export interface Demand {
  /** So many records make their first call with such a request. */
  add(request: ActionRequest, count: number): void;
  /** By the slowest gate, and the calls of a record before and behind it; absent when nothing is sent. `reached`: how many records make their first call at a step. */
  time(steps: readonly Range[], reached: readonly number[], sketchOf: (index: number) => Sketch | undefined): Duration | undefined;
}

/** Records may name any number of origins; those that come late are none that many go to. */
const mostOrigins = 10_000;

interface Gate {
  readonly origin: string;
  count: number;
}

/** Makes the demand on a run's gates: one for each origin and credential. */
export function createDemand(steps: readonly Step[]): Demand {
  const intervals = steps.map(({ node }) => node.action?.intervalMs ?? 0);
  const isRated = intervals.some((interval) => interval > 0);
  const first = new Map<string, Gate>();
  return {
    add({ origin, auth }, count) {
      if (isRated) addTo(first, origin, auth?.credential, count);
    },
    time(ranges, reached, sketchOf) {
      const [slowest] = [...rated(ranges, reached, sketchOf), ...limited(ranges, sketchOf)].sort((a, b) => b.ms - a.ms);
      // A record makes its calls one after the other.
      const others = ranges.filter(({ expected }) => expected > 0).length - 1;
      return slowest && { ...slowest, ms: slowest.ms + others * latencyMs };
    },
  };

  function rated(ranges: readonly Range[], reached: readonly number[], sketchOf: (index: number) => Sketch | undefined): Duration[] {
    if (!isRated) return [];
    const gates = new Map([...first].map(([key, gate]) => [key, { ...gate }]));
    const slowest = new Map<string, number>();
    for (const [index, { expected }] of ranges.entries()) {
      const gate = sketchOf(index)?.call?.gate;
      if (!gate || expected === 0) continue;
      const key = addTo(gates, gate.origin, gate.credential, expected - (reached[index] as number));
      slowest.set(key, Math.max(slowest.get(key) ?? 0, intervals[index] as number));
    }
    // An origin that only a record names goes at the rate of the node that names it.
    const other = Math.max(...intervals);
    return [...gates].flatMap(([key, { origin, count }]) => {
      const interval = slowest.get(key) ?? other;
      return interval > 0 && count > 0 ? [{ ms: (count - 1) * interval + latencyMs, by: 'rate', intervalMs: interval, origin }] : [];
    });
  }

  function limited(ranges: readonly Range[], sketchOf: (index: number) => Sketch | undefined): Duration[] {
    const limits = new Map<string, { max: number; count: number }>();
    for (const [index, { expected }] of ranges.entries()) {
      const { id, node } = steps[index] as Step;
      if (!node.action || expected === 0) continue;
      const { key, max } = sketchOf(index)?.call?.limit ?? { key: id, max: node.action.concurrency };
      const limit = limits.get(key) ?? { max, count: 0 };
      limits.set(key, limit);
      limit.count += expected;
    }
    return [...limits.values()].map(({ max, count }) => ({
      ms: Math.ceil(count / max) * latencyMs,
      by: 'concurrency',
      atOnce: Math.min(max, count),
      latencyMs,
    }));
  }
}

/** Answers the gate's key. */
function addTo(gates: Map<string, Gate>, origin: string, credential: string | undefined, count: number): string {
  const key = gateKey(origin, credential);
  const gate = gates.get(key);
  if (gate) gate.count += count;
  else if (gates.size < mostOrigins) gates.set(key, { origin, count });
  return key;
}
