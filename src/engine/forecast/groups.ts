import type { Room, Sharing } from '../../core/batch.ts';
import type { Step } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';

/** Bound on memory: records can differ in any number of ways. Later ones count only in the groups that exist. */
const maxEntries = 100_000;

/** Room in a call without a limit of bytes. */
const unbounded: Room = { takes: 0, of: Number.POSITIVE_INFINITY };

interface Group {
  records: number;
  /** The sum of what its records take, of what one call has. */
  room: Room;
  /** For each key with twins, the records that ask for each mark. */
  readonly twins: Map<string, Map<string, { records: number }>>;
}

/** The records of a step, grouped by the batches that they can share. */
export class Groups {
  readonly #sharing: Sharing;
  readonly #batchSize: number;
  readonly #groups = new Map<string, Group>();
  #entries = 0;

  constructor(sharing: Sharing, batchSize: number) {
    this.#sharing = sharing;
    this.#batchSize = batchSize;
  }

  /** The groups of a step; absent if any of its records can share a batch, or none. */
  static of({ node: { action } }: Step): Groups | undefined {
    const { sharing, batchSize } = action ?? {};
    return sharing && batchSize !== undefined ? new Groups(sharing, batchSize) : undefined;
  }

  add(fields: Fields): void {
    const { key, roomOf, twinOf } = this.#sharing;
    const group = this.#entry(this.#groups, key(fields), () => ({ records: 0, room: unbounded, twins: new Map() }));
    if (!group) return;
    group.records++;
    const { takes, of } = roomOf?.(fields) ?? unbounded;
    group.room = { takes: group.room.takes + takes, of };
    const twin = twinOf?.(fields);
    const marks = twin && this.#entry(group.twins, twin.key, () => new Map<string, { records: number }>());
    const mark = marks && this.#entry(marks, twin.mark, () => ({ records: 0 }));
    if (mark) mark.records++;
  }

  /** The calls that the records need at least. */
  calls(): number {
    let calls = 0;
    for (const group of this.#groups.values()) calls += callsOf(group, this.#batchSize);
    return calls;
  }

  /** The entry under a name, created if it is new; absent once there are too many. */
  #entry<Entry>(entries: Map<string, Entry>, name: string, create: () => Entry): Entry | undefined {
    const hash = fingerprint(name);
    const found = entries.get(hash);
    if (found !== undefined || this.#entries === maxEntries) return found;
    this.#entries++;
    const created = create();
    entries.set(hash, created);
    return created;
  }
}

/** The calls of full batches; more if entries with the same key and different marks need batches of their own. */
function callsOf({ records, room, twins }: Group, batchSize: number): number {
  let calls = Math.max(Math.ceil(records / batchSize), Math.ceil(room.takes / room.of));
  for (const marks of twins.values()) {
    let apart = 0;
    for (const mark of marks.values()) apart += Math.ceil(mark.records / batchSize);
    calls = Math.max(calls, apart);
  }
  return calls;
}
