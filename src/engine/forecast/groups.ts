import { type Action, type Step, Unasked } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/text/fingerprint.ts';

/** Bound on memory: records can differ in any number of ways. Later records count only in the groups that exist. */
const maxEntries = 100_000;

/** The batches of one key. The last batch is open. */
interface Group {
  calls: number;
  records: number;
  bytes: number;
  /** The text that each key asks for in the open batch, as fingerprints. */
  readonly questions: Map<string, string>;
}

/** The records of a step, put into batches in their order. */
export class Groups {
  readonly #entryOf: NonNullable<Action['entryOf']>;
  readonly #groups = new Map<string, Group>();
  #entries = 0;

  constructor(entryOf: NonNullable<Action['entryOf']>) {
    this.#entryOf = entryOf;
  }

  /** The groups of a step; absent if all records can share batches, or if no records can. */
  static of({ node: { action } }: Step): Groups | undefined {
    return action?.entryOf && new Groups(action.entryOf);
  }

  add(fields: Fields): void {
    const entry = this.#entryOf(fields);
    if (entry instanceof Unasked) return;
    const { batch, bytes, question } = entry;
    const group = this.#groupOf(batch.key);
    if (!group) return;
    const key = question && fingerprint(question.key);
    const text = question && fingerprint(question.text);
    const other = key === undefined ? undefined : group.questions.get(key);
    const clashes = other !== undefined && other !== text;
    if (group.records === batch.size || group.bytes + bytes > batch.maxBytes || clashes) this.#startBatch(group);
    group.records++;
    group.bytes += bytes;
    if (key === undefined || text === undefined || this.#entries >= maxEntries) return;
    if (!group.questions.has(key)) this.#entries++;
    group.questions.set(key, text);
  }

  /** The calls of these batches. */
  calls(): number {
    let calls = 0;
    for (const group of this.#groups.values()) calls += group.calls;
    return calls;
  }

  #startBatch(group: Group): void {
    this.#entries -= group.questions.size;
    group.questions.clear();
    group.calls++;
    group.records = 0;
    group.bytes = 0;
  }

  /** The group of that name; absent for a new group once there are too many groups. */
  #groupOf(name: string): Group | undefined {
    const key = fingerprint(name);
    const found = this.#groups.get(key);
    if (found || this.#entries >= maxEntries) return found;
    this.#entries++;
    const created: Group = { calls: 1, records: 0, bytes: 0, questions: new Map() };
    this.#groups.set(key, created);
    return created;
  }
}
