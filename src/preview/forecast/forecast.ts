import type { ActionRequest } from '../../core/action.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import type { Ending } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Lookups } from '../../core/lookup.ts';
import type { Step } from '../../core/node.ts';
import { allSteps, isBatched, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import { type FailureLimit, minCallsBefore, tooManyErrors } from '../../engine/failure-limits.ts';
import { actionsOf, type Range, sumOf } from './actions.ts';
import { Groups, Questions } from './groups.ts';
import { Demand, type Duration } from './time.ts';
import { type EstimatedTokens, TokenForecast } from './tokens.ts';
import { Probes, Walk, type WalkListener } from './walk.ts';

/** The estimated load of a run, as far as it is known before anything is sent. */
export interface Forecast {
  readonly records: number;
  /** Number of records that fail before anything is sent for them, and the first of these failures. */
  readonly failing: number;
  readonly firstFailure: ({ readonly record: number } & CodedMessage) | undefined;
  /** Number of records that fail before anything is sent for them, but continue because of `on_error: keep`. */
  readonly passedThrough: number;
  /** The record whose failure ends the run; undefined if no such failure is known. */
  readonly stopsAt: { readonly record: number; readonly why: Ending } | undefined;
  readonly actions: Range;
  readonly credits: Range;
  /** True if the flow contains loops or polls, which can make several passes per record. */
  readonly hasPasses: boolean;
  /** True if the flow contains `first` nodes, which ask a further step only if the steps before it do not find anything. */
  readonly hasAlternatives: boolean;
  readonly hasPages: boolean;
  readonly hasBatches: boolean;
  readonly nodesStatingCost: readonly string[];
  /** Undefined if nothing is sent. */
  readonly time: Duration | undefined;
  /** Undefined if no node calls an LLM. */
  readonly tokens: EstimatedTokens | undefined;
  /** Number of first requests of records to which an answer is kept; undefined if the run uses no kept answers. */
  readonly kept: number | undefined;
  /** The first requests that the run will send. Leaves out a request that an earlier record sends, too, and that the cache then answers. */
  readonly requests: readonly ActionRequest[];
}

export interface ForecastSettings extends FailureLimit {
  readonly clock: EvaluationClock;
  readonly maxRequests: number;
  /** Measured duration of a request in ms; undefined for an assumed one. */
  readonly latencyMs?: number;
  /** Finds the retail chains that requests name. If undefined, every chain name is accepted. */
  readonly lookups?: Lookups;
  /** Returns true if a kept answer replaces the request of the step. Undefined if the run uses none. */
  readonly isKept?: (step: Step, request: ActionRequest) => boolean;
}

export class Forecaster implements WalkListener {
  readonly #plan: Plan;
  readonly #settings: ForecastSettings;
  /** All steps of the flow, except those that contain other steps. All lists with one entry per step have this order. */
  readonly #steps: readonly Step[];
  readonly #indexes: ReadonlyMap<Step, number>;
  readonly #probes: Probes;
  readonly #demand: Demand;
  readonly #tokens: TokenForecast;
  readonly #groups: readonly (Groups | undefined)[];
  readonly #questions: readonly (Questions | undefined)[];
  /** For each step, the number of records that make their first call there. */
  readonly #firstCalls: number[];
  readonly #requests: ActionRequest[] = [];
  #records = 0;
  /** For each step, the number of records whose first call has a kept answer. */
  readonly #kept: number[];
  #failing = 0;
  #uncalled = 0;
  #passedThrough = 0;
  #firstFailure: Forecast['firstFailure'];
  #stopsAt: Forecast['stopsAt'];

  constructor(plan: Plan, settings: ForecastSettings) {
    this.#plan = plan;
    this.#settings = settings;
    this.#steps = allSteps(plan.steps).filter(({ node }) => !node.inner);
    this.#indexes = new Map(this.#steps.map((step, index) => [step, index]));
    this.#probes = new Probes(this.#steps, settings.clock);
    this.#demand = new Demand(this.#steps, settings.latencyMs);
    this.#tokens = new TokenForecast(this.#steps);
    this.#groups = this.#steps.map(Groups.of);
    this.#questions = this.#steps.map(Questions.of);
    this.#firstCalls = this.#steps.map(() => 0);
    this.#kept = this.#steps.map(() => 0);
  }

  async add(item: Item): Promise<void> {
    const walk = new Walk(item, this, this.#settings);
    this.#records++;
    try {
      if (item.failure) throw item.failure;
      this.#plan.serialOrder?.keyOf(item.fields, this.#settings.clock);
      await walk.through(this.#plan.steps, item.fields);
      if (walk.calls === 0) this.#uncalled++;
      if (walk.hasPassedThrough) this.#passedThrough++;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (walk.calls === 0) this.#addFailure(item, error);
    }
  }

  forecast(): Forecast {
    const steps = this.#steps;
    const ranges = actionsOf(
      this.#plan.steps,
      steps,
      this.#firstCalls.map((records, index) => ({
        records,
        calls: this.#groups[index]?.calls(),
        isCached: steps[index]?.node.action?.cache !== undefined,
        different: this.#questions[index]?.count(),
      })),
    );
    const fewest = this.#fewestCalls();
    const kept = this.#keptActions();
    const sent = ranges.map((range, index) => without(kept[index] as number, range));
    const sentCalls = this.#firstCalls.map((calls, index) => calls - (this.#kept[index] as number));
    const prices = steps.map(({ node }) => node.action?.price.credits ?? 0);
    return {
      records: this.#records,
      failing: this.#failing,
      firstFailure: this.#firstFailure,
      passedThrough: this.#passedThrough,
      stopsAt: this.#stopsAt,
      kept: this.#settings.isKept && kept.reduce((sum, count) => sum + count, 0),
      requests: this.#requests,
      actions: sumOf(ranges, () => 1, fewest),
      credits: sumOf(sent, (index) => prices[index] as number, fewest),
      hasPasses: allSteps(this.#plan.steps).some(({ node }) => node.inner && !node.inner.areAlternatives),
      hasAlternatives: allSteps(this.#plan.steps).some(({ node }) => node.inner?.areAlternatives),
      hasPages: steps.some(({ node }) => node.streams),
      hasBatches: steps.some(isBatched),
      nodesStatingCost: steps.flatMap(({ id, node }, index) => (node.action?.cost && this.#probes.of(index)?.gate ? [id] : [])),
      time: this.#demand.time(sent, sentCalls, this.#probes),
      tokens: this.#tokens.total(sent, this.#probes),
    };
  }

  /** The first calls, or batches of them, that are not sent because their answers are kept. */
  #keptActions(): number[] {
    return this.#steps.map(({ node: { action } }, index) => {
      const [calls, kept, size] = [this.#firstCalls[index] as number, this.#kept[index] as number, action?.batchSize ?? 1];
      return Math.ceil(calls / size) - Math.ceil((calls - kept) / size);
    });
  }

  firstCall(step: Step, request: ActionRequest, fields: Fields): Promise<void> | void {
    const index = this.#indexes.get(step) as number;
    this.#firstCalls[index] = (this.#firstCalls[index] as number) + 1;
    this.#groups[index]?.add(fields, this.#settings.clock);
    const isNew = this.#questions[index]?.add(request, fields) ?? true;
    const isKept = this.#settings.isKept?.(step, request) ?? false;
    if (isKept) this.#kept[index] = (this.#kept[index] as number) + 1;
    else this.#demand.add(request);
    this.#tokens.add(index, fields);
    if (isNew && !isKept && this.#requests.length < this.#settings.maxRequests) this.#requests.push(request);
    return this.#probes.of(index)?.isExact ? undefined : this.#probes.run(index, fields);
  }

  /** Remembers the first record whose failure ends the run because of `on_error: stop`. */
  stop(record: number): void {
    this.#stopsAt ??= { record, why: 'on-error-stop' };
  }

  #addFailure({ number: record }: Item, { message, code, details }: Failure): void {
    this.#failing++;
    this.#firstFailure ??= { record, message, code, details };
    // A share of the finished records is unknown, because most of them would send something.
    const reason = tooManyErrors(this.#settings, { finished: 0, failed: this.#failing });
    if (reason) this.#stopsAt ??= { record, why: reason.ending };
  }

  /**
   * Returns the minimum number of calls before failures end the run. It can be lower than the number of records that have received a
   * response: one response can be for a whole batch, and a cached one for any number of records.
   */
  #fewestCalls(): number {
    const records = this.#fewestRecords();
    if (records === Number.POSITIVE_INFINITY) return records;
    const shares = this.#steps.map(({ node: { action } }) => (action?.cache ? Number.POSITIVE_INFINITY : (action?.batchSize ?? 1)));
    return Math.ceil(records / Math.max(1, ...shares));
  }

  #fewestRecords(): number {
    if (this.#stopsAt) return 0;
    if (allSteps(this.#plan.steps).some(({ onError }) => onError === 'stop')) return 1;
    return minCallsBefore(this.#settings, this.#failing, this.#uncalled);
  }
}

function without(kept: number, { least, expected, most }: Range): Range {
  const left = (calls: number) => Math.max(0, calls - kept);
  return { least: left(least), expected: left(expected), most: left(most) };
}
