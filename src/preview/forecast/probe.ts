import { gateOf, isLocal } from '../../core/action.ts';
import type { Call } from '../../core/call.ts';
import { Failure } from '../../core/failure.ts';
import { type Action, type NodeContext, type Step, Unasked } from '../../core/node.ts';
import { type Fields, withFields } from '../../core/record.ts';

/** Properties of a step's call, determined with the fields of one record. */
export interface Probe {
  /** The gate of the request. Undefined if no request could be prepared, or if local data answers it. */
  readonly gate: Call<unknown>['gate'] | undefined;
  /** True if all fields came from a record. False if values were made up for fields that earlier responses would add. */
  readonly isExact: boolean;
  /** Number of input tokens of an LLM call; undefined at other steps. */
  readonly inputTokens: number | undefined;
}

/** Prepares one request at each step to determine its gate and its number of tokens. Sends nothing. */
export class Probes {
  readonly #steps: readonly Step[];
  readonly #probes: (Probe | undefined)[];

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#probes = steps.map(() => undefined);
  }

  /**
   * Returns what is known about a step's call. Undefined if the step makes no call, or if no record has made its first call at this step or
   * an earlier one yet.
   */
  of(index: number): Probe | undefined {
    return this.#probes[index];
  }

  /**
   * Prepares the request of the step at `index`, where a record makes its first call. Then prepares the requests of all later steps that
   * have none yet.
   */
  async run(index: number, fields: Fields): Promise<void> {
    let guessed = fields;
    for (let at = index; at < this.#steps.length; at++) {
      const { node } = this.#steps[at] as Step;
      if (!node.action) guessed = await firstRowOr(guessed, (fields) => node.run(fields, noContext));
      else {
        if (at === index || !this.#probes[at]) this.#probes[at] = { ...probed(node.action, guessed), isExact: at === index };
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

function probed(action: Action, fields: Fields): Pick<Probe, 'gate' | 'inputTokens'> {
  try {
    const request = action.prepare(fields);
    if (request instanceof Unasked) return nothing;
    return { gate: isLocal(request) ? undefined : gateOf(request), inputTokens: action.tokens?.inputOf(fields) };
  } catch (error) {
    if (error instanceof Failure) return nothing;
    throw error;
  }
}

const nothing = { gate: undefined, inputTokens: undefined };
