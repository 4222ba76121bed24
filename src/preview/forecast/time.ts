import { type ActionRequest, gateOf, isLocal } from '../../core/action.ts';
import type { Step } from '../../core/node.ts';
import { gateKey } from '../../engine/gates.ts';
import type { Range } from './actions.ts';
import type { Probes } from './walk.ts';

/** Duration of a request in ms, if none has been measured. */
const assumedLatencyMs = 200;

/** Assumed number of requests in flight if the run adapts this number to the server. */
const assumedAuto = 16;

/** The shortest possible duration of a run, and what limits it: the rate at an origin, or the number of requests in flight. */
export type Duration = { readonly ms: number } & (
  | { readonly by: 'rate'; readonly intervalMs: number; readonly origin: string }
  | { readonly by: 'concurrency'; readonly atOnce: number; readonly latencyMs: number }
);

/** Limits memory use, because records can have any number of origins. The origins with the most calls usually occur early. */
const maxGates = 10_000;

interface GateLoad {
  readonly origin: string;
  count: number;
}

/** Adds up the calls at each gate (the rate limiter of an API) and under each concurrency limit, to estimate the duration of a run. */
export class Demand {
  readonly #steps: readonly Step[];
  readonly #intervals: readonly number[];
  readonly #isRated: boolean;
  readonly #latencyMs: number;
  /** For each gate, the number of records that make their first call there. */
  readonly #firstCalls = new Map<string, GateLoad>();

  constructor(steps: readonly Step[], latencyMs = assumedLatencyMs) {
    this.#steps = steps;
    this.#latencyMs = latencyMs;
    this.#intervals = steps.map(({ node }) => node.action?.intervalMs ?? 0);
    this.#isRated = this.#intervals.some((interval) => interval > 0);
  }

  add(request: ActionRequest): void {
    if (!this.#isRated) return;
    const gate = isLocal(request) ? undefined : gateOf(request);
    if (gate) addTo(this.#firstCalls, gate.origin, gate.credential, 1);
  }

  /** The time at the slowest gate or concurrency limit, plus one record's calls to other nodes. Undefined if nothing is sent. */
  time(ranges: readonly Range[], firstCalls: readonly number[], probes: Probes): Duration | undefined {
    const durations = [...this.#atGates(ranges, firstCalls, probes), ...this.#atLimits(ranges)];
    const [slowest] = durations.sort((a, b) => b.ms - a.ms);
    // A record makes its calls one after another, so the duration also includes the last record's calls to other nodes.
    const others = ranges.filter(({ expected }, index) => expected > 0 && !this.#steps[index]?.node.action?.lookup?.isLocal).length - 1;
    return slowest && { ...slowest, ms: slowest.ms + others * this.#latencyMs };
  }

  #atGates(ranges: readonly Range[], firstCalls: readonly number[], probes: Probes): Duration[] {
    if (!this.#isRated) return [];
    const gates = new Map([...this.#firstCalls].map(([key, load]) => [key, { ...load }]));
    const slowest = new Map<string, number>();
    for (const [index, { expected }] of ranges.entries()) {
      const gate = probes.of(index)?.gate;
      if (!gate || expected === 0) continue;
      const key = addTo(gates, gate.origin, gate.credential, expected - (firstCalls[index] as number));
      slowest.set(key, Math.max(slowest.get(key) ?? 0, this.#intervals[index] as number));
    }
    // For an origin that occurs only in records, it is unknown which node sends requests to it. So the lowest rate of all nodes is assumed.
    const other = Math.max(...this.#intervals);
    return [...gates].flatMap(([key, { origin, count }]) => {
      const intervalMs = slowest.get(key) ?? other;
      return intervalMs > 0 && count > 0 ? [{ ms: (count - 1) * intervalMs + this.#latencyMs, by: 'rate', intervalMs, origin }] : [];
    });
  }

  #atLimits(ranges: readonly Range[]): Duration[] {
    const limits = new Map<string, { max: number; count: number }>();
    for (const [index, { expected }] of ranges.entries()) {
      const { action } = (this.#steps[index] as Step).node;
      if (!action || action.lookup?.isLocal || expected === 0) continue;
      const { key, auto } = action.limit;
      const max = auto === undefined ? action.limit.max : Math.min(action.limit.max, assumedAuto);
      const limit = limits.get(key) ?? { max, count: 0 };
      limits.set(key, limit);
      limit.count += expected;
    }
    return [...limits.values()].map(({ max, count }) => ({
      ms: Math.ceil(count / max) * this.#latencyMs,
      by: 'concurrency',
      atOnce: Math.min(max, count),
      latencyMs: this.#latencyMs,
    }));
  }
}

/** Creates the gate if needed. Returns its key. */
function addTo(gates: Map<string, GateLoad>, origin: string, credential: string | undefined, count: number): string {
  const key = gateKey(origin, credential);
  const gate = gates.get(key);
  if (gate) gate.count += count;
  else if (gates.size < maxGates) gates.set(key, { origin, count });
  return key;
}
