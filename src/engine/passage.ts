import type { Trace } from '../core/action.ts';
import type { Item, RowsText, SpilledRows } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Output, Ports } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { Batches, type InputState } from './batches.ts';
import { Budget } from './budget.ts';
import { Calls } from './call.ts';
import { Chain } from './chain.ts';
import { type Gates, RunGates } from './gates.ts';
import type { RunPhase, StopReason } from './phase.ts';
import { SerialKeys, SerialRecords } from './serial.ts';
import { windowSize } from './window.ts';

/** Runs records through the nodes of a flow, in this process or in worker processes. */
export interface Passage {
  /** Maximum number of records that are in progress or not yet written. */
  readonly size: number;
  /** Runs a record through all nodes. Rejects with a Failure, or with Unfinished if the run ends first. */
  pass(item: Item): Promise<readonly Fields[] | SpilledRows | RowsText>;
  room(): Promise<void> | undefined;
  /** Must be called whenever the state of the input might have changed. */
  inputChanged(): void;
  /** Releases what the run shares with other runs, such as slots. Must be called only when no record is in progress. */
  close(): Promise<void>;
}

export interface PassageTools {
  readonly phase: RunPhase;
  readonly giveUp: ((reason: StopReason) => void) | undefined;
  input(): InputState;
}

interface LocalPassageParts {
  readonly ports: Ports;
  readonly gates: Gates;
  readonly output: Pick<Output, 'partialRows'>;
  /** The keys of a flow with `serial_by`, if several runs or calls share them. If undefined, the order holds only within the run. */
  readonly serialKeys?: SerialKeys;
  readonly trace?: Trace;
}

export class LocalPassage implements Passage {
  readonly size: number;
  readonly #gates: RunGates;
  readonly #batches: Batches;
  readonly #chain: Chain;
  readonly #budget: Budget;
  /** Undefined for a flow without `serial_by`. */
  readonly #serial: SerialRecords | undefined;

  constructor(plan: Plan, { ports, gates, output, serialKeys, trace }: LocalPassageParts, { phase, giveUp, input }: PassageTools) {
    this.size = windowSize(plan);
    this.#gates = new RunGates(gates, phase, (event) => ports.report(event));
    const steps = allSteps(plan.steps);
    const continues = steps.some(({ onError }) => onError === 'keep');
    const calls = new Calls({ ports, gates: this.#gates, phase, giveUp, continues });
    // A batch that waited for more records to be read could wait forever, because they are read only after its own records have ended.
    const inputState = () => (this.#serial?.isFull ? 'ended' : input());
    this.#batches = new Batches({ steps, clock: ports.clock, calls, input: inputState });
    const partialRows = () => output.partialRows();
    this.#chain = new Chain(plan, { ports, phase, calls, batches: this.#batches, giveUp, trace, partialRows });
    this.#budget = new Budget(plan, ports.ledger, phase);
    const keys = serialKeys ?? new SerialKeys();
    const maxWaiting = Math.max(1, Math.floor(this.size / 2));
    const order = plan.serialOrder;
    this.#serial = order && new SerialRecords({ order, keys, clock: ports.clock, phase, maxWaiting, room: () => this.#budget.room() });
    phase.onPhase((now) => {
      if (now !== 'stopped') return;
      ports.http.abort();
      ports.tools.abort();
    });
  }

  pass(item: Item): Promise<readonly Fields[] | SpilledRows | RowsText> {
    if (item.parked) return Promise.resolve(item.parked);
    return this.#serial && !item.failure ? this.#serial.pass(item, () => this.#begin(item)) : this.#begin(item);
  }

  #begin(item: Item): Promise<readonly Fields[] | SpilledRows> {
    const progress = this.#budget.begin();
    const task = this.#chain.pass(item, progress);
    this.#budget.endWith(task, progress);
    return task;
  }

  room(): Promise<void> | undefined {
    return this.#gates.room() ?? this.#budget.room() ?? this.#serial?.room();
  }

  inputChanged(): void {
    this.#batches.recheck();
  }

  close(): Promise<void> {
    this.#gates.close();
    return Promise.resolve();
  }
}
