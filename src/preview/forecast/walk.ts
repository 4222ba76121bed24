import { type ActionRequest, completed, gateOf, isLocal } from '../../core/action.ts';
import type { Call } from '../../core/call.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Lookups } from '../../core/lookup.ts';
import { type Action, type NodeContext, type Step, Unasked } from '../../core/node.ts';
import { type Fields, withFields, withNulls } from '../../core/record.ts';
import { failureAt, withError } from '../../engine/chain.ts';

export interface WalkListener {
  /** `fields` are the fields that were used to prepare the request. */
  firstCall(step: Step, request: ActionRequest, fields: Fields): Promise<void> | void;
  /** Called if the record fails at a step with `on_error: stop`. */
  stop(record: number): void;
}

interface Surroundings {
  readonly clock: EvaluationClock;
  /** Completes requests that need a lookup before they are sent. Undefined to count such requests without the lookup. */
  readonly lookups?: Lookups;
}

/** Stops each row at its first call, without sending anything. Steps that make no call really run. */
export class Walk {
  /** Number of first calls so far. If the record has become several rows, each can make one. */
  calls = 0;
  /** True once the record has failed but continues because of `on_error: keep`. */
  hasPassedThrough = false;
  readonly #item: Item;
  readonly #listener: WalkListener;
  readonly #surroundings: Surroundings;

  constructor(item: Item, listener: WalkListener, surroundings: Surroundings) {
    this.#item = item;
    this.#listener = listener;
    this.#surroundings = surroundings;
  }

  /** Runs a row through the steps. Returns the rows that reached the end without a call. Throws a Failure if the row fails. */
  async through(steps: readonly Step[], row: Fields): Promise<Fields[]> {
    let fields = row;
    for (const [index, step] of steps.entries()) {
      const rows = await this.#atStep(step, fields);
      if (rows.length !== 1) {
        const out: Fields[] = [];
        for (const each of rows) addRows(out, await this.through(steps.slice(index + 1), each));
        return out;
      }
      fields = rows[0] as Fields;
    }
    return [fields];
  }

  async #atStep(step: Step, fields: Fields): Promise<readonly Fields[]> {
    const emitted: Fields[] = [];
    try {
      if (step.when && !step.when.evaluate(fields, this.#surroundings.clock)) return [fields];
      return await this.#inStep(step, fields, emitted);
    } catch (error) {
      if (error === calledInside) return emitted;
      if (!(error instanceof Failure)) throw error;
      if (step.onError === 'stop') this.#listener.stop(this.#item.number);
      const failure = failureAt(step, error, false);
      if (step.onError !== 'keep') throw failure;
      this.hasPassedThrough = true;
      return [...emitted, withError(fields, failure, this.#item)];
    }
  }

  async #inStep(step: Step, fields: Fields, emitted: Fields[]): Promise<readonly Fields[]> {
    const { clock, lookups } = this.#surroundings;
    const { action } = step.node;
    if (!action) {
      const rows = await step.node.run(fields, this.#contextOf(step, emitted));
      return [...emitted, ...rows];
    }
    const named = action.prepare(fields, clock);
    if (named instanceof Unasked) return [named.row];
    const request = lookups ? await completed(named, lookups) : named;
    if (!request) return [withNulls(fields, action.fields)];
    await this.#firstCall(step, request, fields);
    return [];
  }

  /** A step that fails before its first call passes the record on to the next step. */
  async #ask(step: Step, fields: Fields): Promise<readonly Fields[] | Failure | undefined> {
    const callsBefore = this.calls;
    try {
      if (step.when && !step.when.evaluate(fields, this.#surroundings.clock)) return undefined;
      const rows = await this.#inStep(step, fields, []);
      if (this.calls > callsBefore) throw calledInside;
      return rows;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const failure = failureAt(step, error, false);
      if (step.onError !== 'stop') return failure;
      this.#listener.stop(this.#item.number);
      throw failure;
    }
  }

  #firstCall(step: Step, request: ActionRequest, fields: Fields): Promise<void> | void {
    this.calls++;
    return this.#listener.firstCall(step, request, fields);
  }

  /** The clock jumps to the end of each wait, so that the walk never really waits. */
  #contextOf({ node: { inner } }: Step, emitted: Fields[]): NodeContext {
    const { clock } = this.#surroundings;
    if (!inner) return contextWith(clock);
    let nowMs = 0;
    const context: Pick<NodeContext, 'inner' | 'ask' | 'report' | 'emit' | 'clock' | 'waitUntil'> = {
      inner: async (fields, _pass, take) => {
        const callsBefore = this.calls;
        const rows = await this.through(inner.steps, fields);
        if (this.calls > callsBefore) throw calledInside;
        await take(rows);
        return undefined;
      },
      ask: async (step, fields, accepts) => {
        const answer = await this.#ask(step, fields);
        if (!answer) return undefined;
        const [rows, failure] = answer instanceof Failure ? [[], answer] : [answer, undefined];
        return { rows, isAccepted: !failure && accepts(rows), failure, credits: 0, cost: undefined };
      },
      report: () => undefined,
      async emit(rows) {
        addRows(emitted, rows);
      },
      clock: { ...clock, now: () => nowMs },
      async waitUntil(untilMs) {
        nowMs = Math.max(nowMs + 1, untilMs);
      },
    };
    return context as NodeContext;
  }
}

/** Adds rows one by one, because spreading them could exceed the maximum number of arguments. */
function addRows(to: Fields[], rows: readonly Fields[]): void {
  for (const row of rows) to.push(row);
}

/** For nodes that contain no other nodes and make no call. */
function contextWith(clock: EvaluationClock): NodeContext {
  return { clock, report: () => undefined } as object as NodeContext;
}

/** Thrown to end a node that contains other nodes, because a record has reached its first call inside that node. */
const calledInside = new Unfinished();

/** Properties of a step's call, determined with the fields of one record. */
interface Probe {
  /** The gate of the request. Undefined if no request could be prepared, or if local data answers it. */
  readonly gate: Call<unknown>['gate'] | undefined;
  /** True if all fields came from a record. False if values were made up for fields that earlier responses would add. */
  readonly isExact: boolean;
  /** Number of input tokens of an LLM call; undefined at other steps. */
  readonly inputTokens: number | undefined;
}

export class Probes {
  readonly #steps: readonly Step[];
  readonly #probes: (Probe | undefined)[];
  readonly #clock: EvaluationClock;

  constructor(steps: readonly Step[], clock: EvaluationClock) {
    this.#steps = steps;
    this.#clock = clock;
    this.#probes = steps.map(() => undefined);
  }

  /** Undefined if the step makes no call, or if no record has made its first call at this step or an earlier one yet. */
  of(index: number): Probe | undefined {
    return this.#probes[index];
  }

  /** Prepares the request at `index`, where a record makes its first call, and then at all later steps that have none yet. */
  async run(index: number, fields: Fields): Promise<void> {
    let guessed = fields;
    for (let at = index; at < this.#steps.length; at++) {
      const { node } = this.#steps[at] as Step;
      if (!node.action) guessed = await firstRowOr(guessed, (fields) => node.run(fields, contextWith(this.#clock)));
      else {
        if (at === index || !this.#probes[at]) this.#probes[at] = { ...probed(node.action, guessed, this.#clock), isExact: at === index };
        const added = node.action.fields.map((field) => [field, '1'] as const);
        guessed = withFields(guessed, added);
      }
    }
  }
}

async function firstRowOr(fields: Fields, run: (fields: Fields) => Promise<readonly Fields[]>): Promise<Fields> {
  try {
    return (await run(fields))[0] ?? fields;
  } catch (error) {
    if (error instanceof Failure) return fields;
    throw error;
  }
}

function probed(action: Action, fields: Fields, clock: EvaluationClock): Pick<Probe, 'gate' | 'inputTokens'> {
  try {
    const request = action.prepare(fields, clock);
    if (request instanceof Unasked) return nothing;
    return { gate: isLocal(request) ? undefined : gateOf(request), inputTokens: action.tokens?.inputOf(fields) };
  } catch (error) {
    if (error instanceof Failure) return nothing;
    throw error;
  }
}

const nothing = { gate: undefined, inputTokens: undefined };
