import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, Outcome, SpilledRows } from '../core/item.ts';
import type { Fields } from '../core/record.ts';

/** The records that are on their way, in input order. Bounded: memory does not grow with the input. */
export interface Window {
  /** Resolves when another record may begin; `undefined` when it may at once. */
  room(): Promise<void> | undefined;
  /** A record begins. `task`: its output records, or why it failed. */
  begin(item: Item, task: Promise<readonly Fields[] | SpilledRows>): void;
  /** So many records have been written: their places are free. */
  free(count: number): void;
  /** No more records will begin: whoever waits for room need not wait any longer. */
  close(): void;
  /** Resolves when no record is on its way any more. Throws the first error that was no Failure. */
  ended(): Promise<void>;
  /** The finished records that were not handed on, because an earlier one was left unfinished. */
  parkable(): readonly Ended[];
}

/** A record and what came of it. */
export interface Ended {
  readonly item: Item;
  readonly outcome: Outcome;
}

interface Place {
  /** Absent while the record is on its way. What is handed on out of its turn is not held on to: behind a slow one there may be many. */
  ended?: Ended | 'handed on';
}

/** How a window hands on what came of the records. */
export interface WindowOptions {
  readonly size: number;
  /** Hands on as soon as a record has ended, whatever its place. */
  readonly unordered: boolean;
  done(item: Item, outcome: Outcome): void;
  /** There was an error that is no record's own: the run cannot go on. */
  broken(): void;
  /** Whether a record may be left unfinished. */
  isStopping(): boolean;
}

/** Out of order: how many windows a record may be ahead of the slowest. */
const mostAhead = 64;

/**
 * Makes a window. In order, nothing behind a record that was left unfinished is handed on:
 * what was handed on is then exactly the beginning of the input.
 */
export function createWindow(options: WindowOptions): Window {
  const places: Place[] = [];
  let head = 0;
  let running = 0;
  let taken = 0;
  let error: unknown;
  let isClosed = false;
  let wakeRoom: (() => void) | undefined;
  let wakeEnd: (() => void) | undefined;

  return {
    room() {
      if (hasRoom() || isClosed) return undefined;
      return new Promise((resolve) => {
        wakeRoom = resolve;
      });
    },
    begin(item, task) {
      const place: Place = {};
      places.push(place);
      running++;
      taken++;
      void task.then(
        (rows) => settle(place, { item, outcome: 'drop' in rows ? { spilled: rows } : { rows } }),
        (reason) => {
          if (reason instanceof Failure) return settle(place, { item, outcome: { failure: reason } });
          failed(reason);
          left();
        },
      );
    },
    free(count) {
      taken -= count;
      if (hasRoom()) wakeRoom?.();
    },
    close() {
      isClosed = true;
      wakeRoom?.();
    },
    async ended() {
      while (running > 0) {
        await new Promise<void>((resolve) => {
          wakeEnd = resolve;
        });
      }
      if (error !== undefined) throw error;
    },
    parkable() {
      return places.slice(head).flatMap(({ ended }) => (ended && ended !== 'handed on' ? [ended] : []));
    },
  };

  /** Handing on may break, too. */
  function settle(place: Place, ended: Ended): void {
    try {
      end(place, ended);
    } catch (reason) {
      failed(reason);
    }
    left();
  }

  /** Out of order, records may run ahead of a slow one, but not without end: what is known of them has to fit into memory. */
  function hasRoom(): boolean {
    return taken < options.size && places.length - head < options.size * mostAhead;
  }

  function end(place: Place, ended: Ended): void {
    place.ended = options.unordered ? 'handed on' : ended;
    if (options.unordered) options.done(ended.item, ended.outcome);
    moveHead();
  }

  function moveHead(): void {
    for (;;) {
      const ended = places[head]?.ended;
      if (ended === undefined) break;
      head++;
      if (ended !== 'handed on') options.done(ended.item, ended.outcome);
    }
    if (head < 256) return;
    places.splice(0, head);
    head = 0;
    if (options.unordered && hasRoom()) wakeRoom?.();
  }

  function failed(reason: unknown): void {
    if (reason instanceof Unfinished && options.isStopping()) return;
    // Never to be taken for a run that is complete.
    error ??= reason instanceof Unfinished ? new Error('a record was left unfinished by a run that was not ending') : reason;
    options.broken();
  }

  function left(): void {
    running--;
    if (running === 0) wakeEnd?.();
  }
}
