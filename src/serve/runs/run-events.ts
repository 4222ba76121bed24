import { appendFileSync, readFileSync } from 'node:fs';
import { orUndefined } from '../../core/value/or-undefined.ts';

/** An event of a run for its listeners. */
export interface RunEvent {
  readonly id: number;
  readonly event: 'state' | 'progress' | 'failed' | 'end';
  /** JSON without line breaks. */
  readonly data: string;
}

type Listener = (event: RunEvent) => unknown;

/** Events of the run that are never lost: states, the first failures, the end. */
const maxFailed = 100;

/** Ids left free after a restart: those of `progress` are not stored, and none may come twice. */
const skippedIds = 1e9;

/** The events of one run. Those that may not be lost are kept in a file, so that they outlive the server. */
export class RunEvents {
  readonly #path: string;
  readonly #kept: RunEvent[];
  readonly #listeners = new Set<Listener>();
  /** The id of the last event. Absent before the first one of this process. */
  #last: number | undefined;
  #failed: number;

  constructor(path: string) {
    this.#path = path;
    const text = orUndefined(() => readFileSync(path, 'utf8')) ?? '';
    const lines = text.split('\n').slice(0, -1);
    this.#kept = lines.flatMap((line) => orUndefined(() => JSON.parse(line) as RunEvent) ?? []);
    this.#failed = this.#kept.filter(({ event }) => event === 'failed').length;
  }

  state(state: string, ending: string | null, reason: string | null): void {
    this.#keep('state', { state, ending, reason });
  }

  /** Only the first failures are events of their own. */
  failed(failure: object): void {
    if (this.#failed++ < maxFailed) this.#keep('failed', failure);
  }

  /** A newer one replaces it. */
  progress(progress: object): void {
    if (this.#listeners.size > 0) this.#send({ id: this.#nextId(), event: 'progress', data: JSON.stringify(progress) });
  }

  end(run: object): void {
    this.#keep('end', run);
  }

  /**
   * The events after an id, without the ends of earlier parts: the stream goes on after them. Without an id: the present state, the
   * failures so far, and the end. The state has an id before those of the failures, so that a listener that is cut off between them gets
   * the rest.
   */
  after(id: number | undefined): readonly RunEvent[] {
    const last = this.#kept.at(-1);
    if (id !== undefined) return this.#kept.filter((event) => event.id > id && (event.event !== 'end' || event === last));
    const state = this.#kept.findLast(({ event }) => event === 'state');
    const failed = this.#kept.filter(({ event }) => event === 'failed');
    const stateId = Math.min(state?.id ?? 0, (failed[0]?.id ?? Number.POSITIVE_INFINITY) - 1);
    return [...(state ? [{ ...state, id: stateId }] : []), ...failed, ...(last?.event === 'end' ? [last] : [])];
  }

  /** True if the run has ended and nothing follows. */
  get hasEnded(): boolean {
    return this.#kept.at(-1)?.event === 'end';
  }

  /** The id of the last event that is not lost. */
  get lastId(): number {
    return this.#kept.at(-1)?.id ?? 0;
  }

  /** Listens to later events. Returns what ends it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #nextId(): number {
    this.#last ??= this.#kept.length === 0 ? 0 : this.lastId + skippedIds;
    return ++this.#last;
  }

  #keep(event: RunEvent['event'], data: object): void {
    const kept = { id: this.#nextId(), event, data: JSON.stringify(data) };
    this.#kept.push(kept);
    // A full disk loses them for the next server only.
    orUndefined(() => appendFileSync(this.#path, `${JSON.stringify(kept)}\n`, { mode: 0o600 }));
    this.#send(kept);
  }

  #send(event: RunEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
