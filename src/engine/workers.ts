import type { Failure } from '../core/failure.ts';
import type { Item, RowsText, SpilledRows } from '../core/item.ts';
import type { Closing } from './phase.ts';

export interface Unit {
  readonly id: number;
  readonly items: readonly Item[];
}

/** The units (groups of records) of a run and the workers that process them, as the coordinator sees them. */
export interface Units {
  /** The number of units that the available workers can process at once. */
  readonly capacity: number;
  /** Called once, before the first unit is sent. */
  listen(listener: UnitListener): void;
  /** Queues a unit for a worker. If that worker is lost, the unit returns to the queue. */
  put(unit: Unit): void;
  /** Tells the workers that the run is ending. Records that no worker has yet stay unfinished, unless `wants` returns true for their number. */
  tell(closing: Closing, wants: (record: number) => boolean): void;
  end(): void;
  /** Resolves once no worker is working on the run. */
  close(): Promise<void>;
}

export interface UnitListener {
  /** Receives the result of a record; undefined if the record was left unfinished. Only the first result of each record counts. */
  finished(unit: number, index: number, result: RowsText | SpilledRows | Failure | undefined): void;
  /** Receives the reason why a worker wants the run to end. */
  closing(closing: Closing): void;
  /** Called if a worker's error ends the run. */
  failed(error: unknown): void;
}
