import type { Room } from '../../core/batch.ts';
import type { Step } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';

/** The records of a step whose batches hold only some of them together. */
export interface Groups {
  add(fields: Fields): void;
  /** How many calls they make at least. */
  calls(): number;
}

/** Records may differ in any number of ways; of those that come later nothing is known. */
const mostKnown = 100_000;

/** Of a call that holds records of any size. */
const unbounded: Room = { takes: 0, of: Number.POSITIVE_INFINITY };

interface Group {
  records: number;
  /** How much of a call they take in all, of how much there is in one. */
  room: Room;
  /** For what twins are found by, how many records ask for each of the things that are asked for under it. */
  readonly twins: Map<string, Map<string, number>>;
}

/** Makes the groups of a step; `undefined` where a batch holds whoever comes. */
export function createGroups({ node: { action } }: Step): Groups | undefined {
  const { sharing, batchSize } = action ?? {};
  if (!sharing || batchSize === undefined) return undefined;
  const groups = new Map<string, Group>();
  let known = 0;
  return {
    add(fields) {
      const group = at(groups, fingerprint(sharing.key(fields)), () => ({
        records: 0,
        room: unbounded,
        twins: new Map(),
      }));
      if (!group) return;
      group.records++;
      const { takes, of } = sharing.roomOf?.(fields) ?? unbounded;
      group.room = { takes: group.room.takes + takes, of };
      const twin = sharing.twinOf?.(fields);
      const others = twin && at(group.twins, fingerprint(twin.key), () => new Map<string, number>());
      if (!twin || !others) return;
      const mark = fingerprint(twin.mark);
      const count = at(others, mark, () => 0);
      if (count !== undefined) others.set(mark, count + 1);
    },
    calls: () => [...groups.values()].reduce((calls, group) => calls + callsOf(group, batchSize), 0),
  };

  /** What is kept under a name, from now on if not before; absent where too much is kept already. */
  function at<Kept>(kept: Map<string, Kept>, name: string, create: () => Kept): Kept | undefined {
    const found = kept.get(name);
    if (found !== undefined || known === mostKnown) return found;
    known++;
    const created = create();
    kept.set(name, created);
    return created;
  }
}

/** Full batches do, but for twins: no batch holds two that ask for different things under the same key. */
function callsOf({ records, room, twins }: Group, batchSize: number): number {
  let calls = Math.max(Math.ceil(records / batchSize), Math.ceil(room.takes / room.of));
  for (const others of twins.values()) {
    let apart = 0;
    for (const count of others.values()) apart += Math.ceil(count / batchSize);
    calls = Math.max(calls, apart);
  }
  return calls;
}
