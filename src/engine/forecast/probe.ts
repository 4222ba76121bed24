import type { Batch } from '../../core/batch.ts';
import type { Call } from '../../core/call.ts';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { NodeContext, Step } from '../../core/node.ts';
import { type Fields, withFields } from '../../core/record.ts';

/** How a node would call, seen by letting it begin: it is stopped where it would send. */
export interface Sketch {
  /** Whether an answer may come from the cache. */
  readonly isCached: boolean;
  /** Whether an answer says what it really cost. */
  readonly tellsCost: boolean;
  /** Absent when not even the call could be made. */
  readonly call: Pick<Call<unknown>, 'gate' | 'limit'> | undefined;
  /** Whether it was drawn with a record's own fields, and not with guesses at what earlier answers will add. */
  readonly isExact: boolean;
}

/** The sketches of steps. */
export interface Sketches {
  /** Absent for a step that does not act, and before the first record that makes a call came to it or to a step before it. */
  of(index: number): Sketch | undefined;
  /** Draws the step to which a record came, and those behind it. */
  draw(index: number, fields: Fields): Promise<void>;
}

/** Makes the sketches of steps, none of them drawn yet. */
export function createSketches(steps: readonly Step[]): Sketches {
  const drawn: (Sketch | undefined)[] = steps.map(() => undefined);
  return {
    of: (index) => drawn[index],
    async draw(index, fields) {
      let guessed = fields;
      for (const [at, { node }] of steps.entries()) {
        if (at < index) continue;
        if (!node.action) guessed = await ranOrLeft(() => node.run(guessed, neverCalling), guessed);
        else {
          if (at === index || !drawn[at]) drawn[at] = await sketchOf((context) => node.run(guessed, context), at === index);
          guessed = withFields(
            guessed,
            node.action.fields.map((field) => [field, '1'] as const),
          );
        }
      }
    },
  };
}

const neverCalling = {} as NodeContext;

async function ranOrLeft(run: () => Promise<readonly Fields[]>, fields: Fields): Promise<Fields> {
  try {
    return (await run())[0] ?? fields;
  } catch (error) {
    if (error instanceof Failure) return fields;
    throw error;
  }
}

async function sketchOf(run: (context: NodeContext) => Promise<unknown>, isExact: boolean): Promise<Sketch> {
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
  return { isCached, tellsCost: call?.cost !== undefined, call, isExact };
}
