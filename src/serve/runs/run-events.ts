import { appendFileSync, readFileSync } from 'node:fs';
import { orUndefined } from '../../core/or-undefined.ts';

/** An event of a run for its listeners. */
export interface RunEvent {
  readonly id: number;
  readonly event: 'state' | 'progress' | 'failed' | 'end';
  /** JSON without line breaks. */
  readonly data: string;
}

type Listener = (event: RunEvent) => void;

/** Events of the run that are never lost: states, the first failures, the end. */
const maxFailed = 100;

/** The events of one run. Those that may not be lost are kept in a file, so that they outlive the server. */
export class RunEvents {
  readonly #path: string;
  readonly #kept: RunEvent[];
  readonly #listeners = new Set<Listener>();
  #last: number;
  #failed: number;

  constructor(path: string) {
    this.#path = path;
    const text = orUndefined(() => readFileSync(path, 'utf8')) ?? '';
    const lines = text.split('\n').slice(0, -1);
    this.#kept = lines.flatMap((line) => orUndefined(() => JSON.parse(line) as RunEvent) ?? []);
    this.#last = this.#kept.at(-1)?.id ?? 0;
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
    if (this.#listeners.size > 0) this.#send({ id: ++this.#last, event: 'progress', data: JSON.stringify(progress) });
  }

  end(run: object): void {
    this.#keep('end', run);
  }

  /**
   * The events after an id. Without one: the present state, the failures so far, and the end. The state has an id before those
   * of the failures, so that a listener that is cut off between them gets the rest.
   */
  after(id: number | undefined): readonly RunEvent[] {
    if (id !== undefined) return this.#kept.filter((event) => event.id > id);
    const state = this.#kept.findLast(({ event }) => event === 'state');
    const lastEnd = this.#kept.at(-1);
    const failed = this.#kept.filter(({ event }) => event === 'failed');
    const stateId = Math.min(state?.id ?? 0, (failed[0]?.id ?? Number.POSITIVE_INFINITY) - 1);
    return [...(state ? [{ ...state, id: stateId }] : []), ...failed, ...(lastEnd?.event === 'end' ? [lastEnd] : [])];
  }

  /** True if the run has ended and nothing follows. */
  get hasEnded(): boolean {
    return this.#kept.at(-1)?.event === 'end';
  }

  get lastId(): number {
    return this.#last;
  }

  /** Listens to later events. Returns what ends it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #keep(event: RunEvent['event'], data: object): void {
    const kept = { id: ++this.#last, event, data: JSON.stringify(data) };
    this.#kept.push(kept);
    // A full disk loses them for the next server only.
    orUndefined(() => appendFileSync(this.#path, `${JSON.stringify(kept)}\n`, { mode: 0o600 }));
    this.#send(kept);
  }

  #send(event: RunEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
