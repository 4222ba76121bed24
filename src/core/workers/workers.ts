import type { CodedMessage } from '../error-code.ts';
import type { Event } from '../event.ts';
import type { Failure } from '../failure.ts';
import type { Item, RowsText } from '../item.ts';
import type { SpendingRefusal } from '../spending.ts';
import type { Closing } from './closing.ts';

/** A group of records that goes to one worker. */
export interface Unit {
  readonly id: number;
  readonly items: readonly Item[];
}

/** The workers of a run, as its coordinator sees them. */
export interface Units {
  /** The number of units that the living workers can hold. */
  readonly capacity: number;
  /** Begins to take results. Called once, before the first unit. */
  listen(listener: UnitListener): void;
  /** Hands a unit to a worker. It comes back to the queue if the worker is lost. */
  put(unit: Unit): void;
  /** Tells the workers that the run closes. */
  tell(closing: Closing): void;
  /** Notes that no more units come. */
  end(): void;
  /** Resolves once no worker works on the run. */
  close(): Promise<void>;
}

/** Takes what workers report. */
export interface UnitListener {
  /** Takes the result of a record of a unit; undefined if it was left unfinished. Only the first result of a record counts. */
  finished(unit: number, index: number, result: RowsText | Failure | undefined): void;
  /** Takes the reason of a worker to close the run. */
  closing(closing: Closing): void;
  /** Ends the run with an error. */
  failed(error: unknown): void;
}

/** Calls of a node that a worker may make. */
export interface PaidCalls {
  /** Their number; 0 if they are refused. */
  readonly calls: number;
  readonly refusal?: CodedMessage | undefined;
  /** The credits that are left for this worker, roughly; undefined if nothing limits them. */
  readonly left?: number | undefined;
}

/** The money that a call of a node holds, and the cost of the node so far. */
export interface HeldMoney {
  readonly held: number | SpendingRefusal;
  readonly total: number;
}

/** Everything that a worker asks from its run, or reports to it. */
export interface RunLink {
  /** Takes the credits of up to `calls` calls of a node. */
  takeCalls(node: string, calls: number): Promise<PaidCalls>;
  /** Gives back the credits of calls that were not made. */
  giveBackCalls(node: string, calls: number): void;
  /** Reports a call that was made. `cost`: its real cost; undefined for the price of the node. */
  settle(node: string, cost: number | undefined): void;
  /** Holds the most that a call can cost, as `Spending.begin` does. */
  holdMoney(node: string, max: number, most: number): Promise<HeldMoney>;
  /** Ends a call that holds money; without `held`, adds the cost of a call without a maximum. */
  endMoney(node: string, held: number | undefined, cost: number | undefined): void;
  /** Reports an answer that does not state its tokens. */
  noteUnstated(node: string): void;
  report(event: Event): void;
}
