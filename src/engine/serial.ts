import type { EvaluationClock } from '../core/condition/evaluation.ts';
import { Unfinished } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import type { SerialOrder } from '../core/plan.ts';
import { type RunPhase, Wakeup } from './phase.ts';

/**
 * The keys of the records that are under way, in a flow with `serial_by`. Runs and calls that share this object never have two records with
 * the same key under way. A key is forgotten as soon as its last record has ended.
 */
export class SerialKeys {
  /** For each key, the functions that begin the waiting records, in the order in which the records came. */
  readonly #lines = new Map<string, Set<() => void>>();

  /** Takes a key for a record. Returns false if an earlier record has the key. */
  take(key: string): boolean {
    if (this.#lines.has(key)) return false;
    this.#lines.set(key, new Set());
    return true;
  }

  /** `begin` is called when the key was handed to this record. */
  wait(key: string, begin: () => void): void {
    this.#lines.get(key)?.add(begin);
  }

  leave(key: string, begin: () => void): void {
    this.#lines.get(key)?.delete(begin);
  }

  free(key: string): void {
    const line = this.#lines.get(key);
    const [next] = line ?? [];
    if (!line || !next) {
      this.#lines.delete(key);
      return;
    }
    line.delete(next);
    next();
  }
}

interface SerialParts {
  readonly order: SerialOrder;
  readonly keys: SerialKeys;
  readonly clock: EvaluationClock;
  readonly phase: RunPhase;
  /** Maximum number of records that wait for an earlier record. */
  readonly maxWaiting: number;
  /** Resolves when a record that has waited may begin; undefined if it may begin now. */
  room(): Promise<void> | undefined;
}

/** Records with the same key go one after another. A waiting record has not begun: if the run ends first, it is left to the next run. */
export class SerialRecords {
  readonly #parts: SerialParts;
  readonly #room = new Wakeup();
  /** Called when the phase changes, to end the waits of records that the run no longer wants. */
  readonly #rechecks = new Set<() => void>();
  #waiting = 0;

  constructor(parts: SerialParts) {
    this.#parts = parts;
    parts.phase.onPhase(() => {
      for (const recheck of [...this.#rechecks]) recheck();
      this.#room.wake();
    });
  }

  /** True while no more records may be read, because too many wait already. */
  get isFull(): boolean {
    return this.#waiting >= this.#parts.maxWaiting && this.#parts.phase.current === 'open';
  }

  /** Resolves when fewer records wait, so that the next record may be read; undefined if there is room now. */
  room(): Promise<void> | undefined {
    return this.isFull ? this.#room.wait() : undefined;
  }

  /** Runs a record once all earlier records with the same key have ended. Rejects with Unfinished if the run ends first. */
  async pass<Result>(item: Item, begin: () => Promise<Result>): Promise<Result> {
    const { order, keys, clock } = this.#parts;
    const key = order.keyOf(item.fields, clock);
    if (key === undefined) return begin();
    if (keys.take(key)) return begin().finally(() => keys.free(key));
    this.#waiting++;
    try {
      await this.#turn(key, item.number);
    } finally {
      this.#waiting--;
      this.#room.wake();
    }
    try {
      await this.#roomToBegin(item.number);
      return await begin();
    } finally {
      keys.free(key);
    }
  }

  #turn(key: string, record: number): Promise<void> {
    const { keys, phase } = this.#parts;
    return new Promise((resolve, reject) => {
      const take = () => {
        this.#rechecks.delete(recheck);
        resolve();
      };
      const recheck = () => {
        if (phase.wants(record, false)) return;
        this.#rechecks.delete(recheck);
        keys.leave(key, take);
        reject(new Unfinished());
      };
      this.#rechecks.add(recheck);
      keys.wait(key, take);
    });
  }

  async #roomToBegin(record: number): Promise<void> {
    const { phase } = this.#parts;
    for (let room = this.#parts.room(); room; room = this.#parts.room()) await room;
    if (!phase.wants(record, false)) throw new Unfinished();
  }
}
