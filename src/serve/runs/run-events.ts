import { appendFileSync, readFileSync } from 'node:fs';
import { orUndefined } from '../../core/value/value.ts';

/** An event of a run, as it is sent to clients that listen to the run. */
export interface RunEvent {
  readonly id: number;
  readonly event: 'state' | 'progress' | 'failed' | 'end';
  /** JSON on a single line. */
  readonly data: string;
}

type Listener = (event: RunEvent) => unknown;

/** Later failures are only counted. */
const maxFailed = 100;

/** Skipped after a restart. Ids of `progress` events are not saved, so ids after the last saved one might already have been used. */
const skippedIds = 1e9;

/** State changes, the first failures and the end are saved in a file, so that they survive a restart of the server. */
export class RunEvents {
  readonly #path: string;
  /** The saved events. Undefined if they are only in the file, so that an ended run needs no memory for them. */
  #kept: RunEvent[] | undefined;
  readonly #listeners = new Set<Listener>();
  /** Undefined if this process has sent no event. */
  #last: number | undefined;
  #failed: number | undefined;
  /** False if an event could not be written to the file. */
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

  /** Has no effect after `maxFailed` failures. */
  failed(failure: object): void {
    this.#failed ??= this.#saved.filter(({ event }) => event === 'failed').length;
    if (this.#failed++ < maxFailed) this.#save('failed', failure);
  }

  /** Not saved, because newer progress will replace it. */
  progress(progress: object): void {
    if (this.#listeners.size > 0) this.#send({ id: this.#nextId(), event: 'progress', data: JSON.stringify(progress) });
  }

  end(run: object): void {
    this.#save('end', run);
  }

  /**
   * Returns the saved events after an id, except for an `end` after which the run was resumed. Without an id, returns the current state,
   * the failures so far, and the end. The state event has a lower id than the failures, so a listener that is disconnected after the state
   * event can continue with the failures.
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

  get hasEnded(): boolean {
    return this.#saved.at(-1)?.event === 'end';
  }

  get lastId(): number {
    return this.#saved.at(-1)?.id ?? 0;
  }

  /** Returns a function that stops the calls. */
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
    // If the disk is full, the event is still sent. It will be missing only after a restart.
    const isWritten = orUndefined(() => appendFileSync(this.#path, `${JSON.stringify(saved)}\n`, { mode: 0o600 }) ?? true);
    this.#isWritten &&= isWritten ?? false;
    this.#send(saved);
    if (event === 'end' && this.#isWritten) this.#kept = undefined;
  }

  #send(event: RunEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
