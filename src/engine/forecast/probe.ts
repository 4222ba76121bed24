import { gateOf, isLocal } from '../../core/action.ts';
import type { Call } from '../../core/call.ts';
import { Failure } from '../../core/failure.ts';
import { type Action, type NodeContext, type Step, Unasked } from '../../core/node.ts';
import { type Fields, withFields } from '../../core/record.ts';

/** The call of a step, as far as a record shows it. */
export interface Probe {
  /** Undefined if no request could be prepared, or if data on this machine answer it. */
  readonly gate: Call<unknown>['gate'] | undefined;
  /** True if all fields came from a record; false if the fields that earlier answers add were guessed. */
  readonly isExact: boolean;
  /** Tokens of a question to a language model; absent at other steps. */
  readonly inputTokens: number | undefined;
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
