import type { CodedMessage } from '../core/error-code.ts';
import type { Event } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import type { Item, RowsText, SpilledRows } from '../core/item.ts';
import type { SpendingRefusal } from '../core/spending.ts';
import type { SaveNames } from '../core/transfer.ts';
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

export interface PaidCalls {
  /** 0 if the credits were refused. */
  readonly calls: number;
  readonly refusal?: CodedMessage;
  /** The approximate number of credits that are left for this worker; undefined if there is no limit. */
  readonly left?: number;
}

/** The money that is reserved for a call of a node, and the cost of the node's calls so far. */
export interface HeldMoney {
  readonly held: number | SpendingRefusal;
  readonly total: number;
}

export interface RunLink {
  /** Reserves the credits. If `isScarce`, the collected reports are sent first, because they may free credits. */
  takeCalls(node: string, calls: number, isScarce: boolean): Promise<PaidCalls>;
  giveBackCalls(node: string, calls: number): void;
  /** `cost` is undefined if the call cost the price of the node. */
  settle(node: string, cost: number | undefined): void;
  /** Reserves the maximum cost of a call, as `Spending.begin` does. */
  holdMoney(node: string, max: number, most: number): Promise<HeldMoney>;
  /** `held` is the amount that was reserved for the call, if any. */
  endMoney(node: string, held: number | undefined, cost: number | undefined): void;
  /** Reports that a language model did not state the number of tokens of its answer. */
  noteUnstated(node: string): void;
  readonly saveNames: SaveNames;
  report(event: Event): void;
}
