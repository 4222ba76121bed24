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
  const { sharing, batchSize } = action ?? {};
  if (!sharing || batchSize === undefined) return undefined;
  const counts = new Map<string, number>();
  /** For what twins are found by, the group of each. */
  const twins = new Map<string, Map<string, number>>();
  return {
    add(fields) {
      const key = sharing.key(fields);
      const twin = sharing.twinOf?.(fields);
      const place = twin ? placeOf(nameOf(key, twin.key), nameOf(twin.mark)) : 0;
      const name = nameOf(key, String(place));
      const count = counts.get(name);
      if (count !== undefined || counts.size < mostGroups) counts.set(name, (count ?? 0) + 1);
    },
    calls: () => [...counts.values()].reduce((calls, count) => calls + Math.ceil(count / batchSize), 0),
  };

  /** Twins that ask for the same stand together, others apart. */
  function placeOf(key: string, mark: string): number {
    const others = twins.get(key);
    if (!others) {
      if (twins.size < mostGroups) twins.set(key, new Map([[mark, 0]]));
      return 0;
    }
    const place = others.get(mark) ?? others.size;
    if (others.size < mostGroups) others.set(mark, place);
    return place;
  }
}

function nameOf(...texts: readonly string[]): string {
  return fingerprint(encoder.encode(JSON.stringify(texts)));
}
