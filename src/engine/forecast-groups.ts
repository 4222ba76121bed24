import { fingerprint } from '../core/fingerprint.ts';
import type { Step } from '../core/node.ts';
import type { Fields } from '../core/record.ts';

/** The records of a step whose batches hold only some of them together. */
export interface Groups {
  add(fields: Fields): void;
  /** How many calls they make at least. */
  calls(): number;
}

/** Records may differ in any number of ways; beyond that nothing is known of who shares a call. */
const mostGroups = 100_000;

const encoder = new TextEncoder();

/** Makes the groups of a step; `undefined` where a batch holds whoever comes. */
export function createGroups({ node: { action } }: Step): Groups | undefined {
  const { batchKey, batchSize } = action ?? {};
  if (!batchKey || batchSize === undefined) return undefined;
  const counts = new Map<string, number>();
  return {
    add(fields) {
      const name = fingerprint(encoder.encode(batchKey(fields)));
      const count = counts.get(name);
      if (count !== undefined || counts.size < mostGroups) counts.set(name, (count ?? 0) + 1);
    },
    calls: () => [...counts.values()].reduce((calls, count) => calls + Math.ceil(count / batchSize), 0),
  };
}
