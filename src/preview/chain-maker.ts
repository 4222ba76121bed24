import { AutomateError, errorOf, Failure, LimitReached, Unfinished } from '../core/failure.ts';
import type { Item, PartialRows } from '../core/item.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { Batches } from '../engine/batches/batches.ts';
import { Calls, RecordProgress } from '../engine/call.ts';
import { Chain } from '../engine/chain.ts';
import type { ChainTools } from '../engine/context.ts';
import { type Gates, RunGates } from '../engine/gates.ts';
import { RunPhase } from '../engine/phase.ts';
import type { WiredPorts } from '../run/wire.ts';

/** Runs single steps (nodes) of a flow for one record. */
export class ChainMaker {
  readonly #phase = new RunPhase();
  readonly #gates: RunGates;
  readonly #tools: Omit<ChainTools, 'partialRows'>;

  constructor({ steps }: Plan, ports: WiredPorts, gates: Gates) {
    const phase = this.#phase;
    this.#gates = new RunGates(gates, phase);
    const calls = new Calls({ ports, phase, gates: this.#gates, giveUp: undefined, continues: false });
    const batches = new Batches({ steps: allSteps(steps), clock: ports.clock, calls, input: () => 'ended' });
    this.#tools = { ports, phase, calls, batches };
  }

  /** Closes the rate limiters (gates), so no further step can run. */
  close(): void {
    this.#gates.close();
  }

  /** Returns the first output record of a step, or the record's failure. Throws an AutomateError if the step produces no output record. */
  async firstRow(step: Step, item: Item): Promise<Fields | Failure> {
    const rows: Fields[] = [];
    const chain = new Chain({ steps: [step] }, { ...this.#tools, partialRows: () => gatherInto(rows) });
    try {
      const passed = await chain.pass(item, new RecordProgress());
      const [first] = 'drop' in passed ? rows : passed;
      if (first) return first;
    } catch (error) {
      const { reason } = this.#phase;
      if (error instanceof Unfinished && reason) throw errorOf(reason.ending === 'refused-credential' ? 'credential' : 'credits', reason);
      return asFailure(error);
    }
    throw new AutomateError('input', 'a node before this one drops the record', { code: 'record-dropped', details: {} });
  }
}

function gatherInto(rows: Fields[]): PartialRows {
  return {
    get rows() {
      return rows.length;
    },
    async add(added) {
      for (const row of added) rows.push(row);
    },
    drop: () => undefined,
  };
}

/** Returns the error if it is a Failure. If it is a limit that would end a run, throws it as an AutomateError. Rethrows other errors. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof LimitReached) throw errorOf(error.ending === 'max-credits' ? 'credits' : 'credential', error);
  throw error;
}
