import type { Batch } from '../../core/batch.ts';
import type { Call } from '../../core/call.ts';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { NodeContext, Step } from '../../core/node.ts';
import { type Fields, withFields } from '../../core/record.ts';

/** How a node would call, found by a run of the node that ends where it would send. */
export interface Probe {
  /** True if an answer may come from the cache. */
  readonly isCached: boolean;
  /** True if an answer states its real cost. */
  readonly statesCost: boolean;
  /** Absent when the node failed before its call. */
  readonly call: Pick<Call<unknown>, 'gate' | 'limit'> | undefined;
  /** True if the fields were a record's own; false if those that earlier answers add were guessed. */
  readonly isExact: boolean;
}

/** The probes of steps. */
export class Probes {
  readonly #steps: readonly Step[];
  readonly #probes: (Probe | undefined)[];

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#probes = steps.map(() => undefined);
  }

  /** Absent for a step that does not call, and until a record made its first call there or at an earlier step. */
  of(index: number): Probe | undefined {
    return this.#probes[index];
  }

  /** Probes the step at which a record makes its first call, and the steps after it that have no probe yet. */
  async run(index: number, fields: Fields): Promise<void> {
    let guessed = fields;
    for (let at = index; at < this.#steps.length; at++) {
      const { node } = this.#steps[at] as Step;
      if (!node.action) guessed = await firstRowOr(guessed, (fields) => node.run(fields, noContext));
      else {
        if (at === index || !this.#probes[at]) this.#probes[at] = await probeOf((context) => node.run(guessed, context), at === index);
        const added = node.action.fields.map((field) => [field, '1'] as const);
        guessed = withFields(guessed, added);
      }
    }
  }
}

const noContext = {} as NodeContext;

async function firstRowOr(fields: Fields, run: (fields: Fields) => Promise<readonly Fields[]>): Promise<Fields> {
  try {
    return (await run(fields))[0] ?? fields;
  } catch (error) {
    if (error instanceof Failure) return fields;
    throw error;
  }
}

async function probeOf(run: (context: NodeContext) => Promise<unknown>, isExact: boolean): Promise<Probe> {
  let call: Call<unknown> | undefined;
  let isCached = false;
  const context = {
    async call(made: Call<unknown>) {
      call = made;
      throw new Unfinished();
    },
    cached(_key: string, _maxAgeMs: number, produce: () => Promise<unknown>) {
      isCached = true;
      return produce();
    },
    async gather(entry: unknown, batch: Batch<unknown, unknown>) {
      await batch.send([entry], context.call);
      throw new Unfinished();
    },
    mapped: () => undefined,
    isLost: () => false,
    idempotencyKey: () => '',
  } as unknown as NodeContext;
  try {
    await run(context);
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof Unfinished)) throw error;
  }
  return { isCached, statesCost: call?.cost !== undefined, call, isExact };
}
