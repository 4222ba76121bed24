import type { ActionRequest } from '../../core/action.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { type Action, type Step, Unasked } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fingerprint } from '../../core/value/json.ts';

/** Limits memory use. After that, records that would need a new group are not counted. */
const maxEntries = 100_000;

/** The batches with the same key. Only the last of them is still open. */
interface Group {
  calls: number;
  records: number;
  bytes: number;
  /** For each entry of the open batch, a fingerprint of the text to send, keyed by the fingerprint of the entry's key. */
  readonly questions: Map<string, string>;
}

/** Divides records into batches as the run will do. */
export class Groups {
  readonly #entryOf: NonNullable<Action['entryOf']>;
  readonly #groups = new Map<string, Group>();
  #entries = 0;

  constructor(entryOf: NonNullable<Action['entryOf']>) {
    this.#entryOf = entryOf;
  }

  /** Undefined if all records or none can share batches, because these can be counted without groups. */
  static of({ node: { action } }: Step): Groups | undefined {
    return action?.entryOf && new Groups(action.entryOf);
  }

  add(fields: Fields, clock: EvaluationClock): void {
    const entry = this.#entryOf(fields, clock);
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

  /** Creates the group if needed. Undefined if it would be one too many. */
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

/** Limits memory use. All requests after that count as distinct. */
const maxKeys = 100_000;

/** Counts the distinct requests of a step that uses the cache. Equal requests are sent only once. */
export class Questions {
  readonly #keyOf: NonNullable<Action['cache']>['key'];
  readonly #keys = new Set<string>();
  #others = 0;

  constructor(keyOf: NonNullable<Action['cache']>['key']) {
    this.#keyOf = keyOf;
  }

  /** Creates the counter for a step. Returns undefined if the step does not use the cache, or if several records can share a request. */
  static of({ node: { action } }: Step): Questions | undefined {
    return action?.cache && action.batchSize === undefined ? new Questions(action.cache.key) : undefined;
  }

  /** Counts a request if it is new. Returns false if an equal request was counted before. */
  add(request: ActionRequest, fields: Fields): boolean {
    const key = fingerprint(this.#keyOf(request, fields));
    if (this.#keys.has(key)) return false;
    if (this.#keys.size < maxKeys) this.#keys.add(key);
    else this.#others++;
    return true;
  }

  count(): number {
    return this.#keys.size + this.#others;
  }
}
