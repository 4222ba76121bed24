import { appendFileSync, readFileSync } from 'node:fs';
import { orUndefined } from '../../core/value/value.ts';

/** An event of a run for its listeners. */
export interface RunEvent {
  readonly id: number;
  readonly event: 'state' | 'progress' | 'failed' | 'end';
  /** JSON without line breaks. */
  readonly data: string;
}

type Listener = (event: RunEvent) => unknown;

/** Maximum of `failed` events of a run. Later failures are only counted. */
const maxFailed = 100;

/** Ids left free after a restart: the ids of `progress` events are not saved, and no id may come twice. */
const skippedIds = 1e9;

/** The events of one run. States, the first failures and the end are saved in a file, so that they outlive the server. */
export class RunEvents {
  readonly #path: string;
  /** Undefined while they are only in the file: an ended run keeps nothing in memory. */
  #kept: RunEvent[] | undefined;
  readonly #listeners = new Set<Listener>();
  /** The id of the last event; absent before the first event of this process. */
  #last: number | undefined;
  #failed: number | undefined;
  /** False once an event could not be written to the file. */
  #isWritten = true;

  constructor(path: string) {
    this.#path = path;
  }

  get #saved(): readonly RunEvent[] {
    return this.#kept ?? this.#read();
  }

  #read(): RunEvent[] {
    const text = orUndefined(() => readFileSync(this.#path, 'utf8')) ?? '';
    const lines = text.split('\n').slice(0, -1);
    return lines.flatMap((line) => orUndefined(() => JSON.parse(line) as RunEvent) ?? []);
  }

  state(state: string, ending: string | null, reason: string | null): void {
    this.#save('state', { state, ending, reason });
  }

  /** Adds an event for a failed record, up to `maxFailed` events. */
  failed(failure: object): void {
    this.#failed ??= this.#saved.filter(({ event }) => event === 'failed').length;
    if (this.#failed++ < maxFailed) this.#save('failed', failure);
  }

  /** Sends the progress to the listeners. It is not saved: a newer progress replaces it. */
  progress(progress: object): void {
    if (this.#listeners.size > 0) this.#send({ id: this.#nextId(), event: 'progress', data: JSON.stringify(progress) });
  }

  end(run: object): void {
    this.#save('end', run);
  }

  /**
   * The saved events after an id, without the `end` events of earlier parts: the stream continues after those. Without an id: the present
   * state, the failures so far, and the end. The id of the state is below the ids of the failures, so that a listener that is cut off
   * between two of these events gets the others.
   */
  after(id: number | undefined): readonly RunEvent[] {
    const saved = this.#saved;
    const last = saved.at(-1);
    if (id !== undefined) return saved.filter((event) => event.id > id && (event.event !== 'end' || event === last));
    const state = saved.findLast(({ event }) => event === 'state');
    const failed = saved.filter(({ event }) => event === 'failed');
    const stateId = Math.min(state?.id ?? 0, (failed[0]?.id ?? Number.POSITIVE_INFINITY) - 1);
    return [...(state ? [{ ...state, id: stateId }] : []), ...failed, ...(last?.event === 'end' ? [last] : [])];
  }

  /** True if the run has ended and no event follows. */
  get hasEnded(): boolean {
    return this.#saved.at(-1)?.event === 'end';
  }

  /** The id of the last saved event. */
  get lastId(): number {
    return this.#saved.at(-1)?.id ?? 0;
  }

  /** Listens to later events. Returns a function that stops listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #nextId(): number {
    this.#last ??= this.lastId === 0 ? 0 : this.lastId + skippedIds;
    return ++this.#last;
  }

  #save(event: RunEvent['event'], data: object): void {
    const saved = { id: this.#nextId(), event, data: JSON.stringify(data) };
    this.#kept ??= this.#read();
    this.#kept.push(saved);
    // With a full disk, only the next server lacks the event.
    const isWritten = orUndefined(() => appendFileSync(this.#path, `${JSON.stringify(saved)}\n`, { mode: 0o600 }) ?? true);
    this.#isWritten &&= isWritten ?? false;
    this.#send(saved);
    if (event === 'end' && this.#isWritten) this.#kept = undefined;
  }

  #send(event: RunEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
