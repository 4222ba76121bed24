import { Failure, Unfinished } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { ActionRequest, NodeContext, Step } from '../../core/node.ts';
import { allSteps, isBatched, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import { failureAt, withError } from '../chain.ts';
import { fewestSent, type MaxErrors } from '../max-errors.ts';
import { actionsOf } from './actions.ts';
import { createGroups } from './groups.ts';
import { plainRecords } from './plain-records.ts';
import { createSketches } from './probe.ts';
import type { Range } from './range.ts';
import { createDemand, type Duration } from './time.ts';

/** What is known of a run before anything is sent. */
export interface Forecast {
  readonly records: number;
  /** Records that fail before anything is sent, and why the first of them does. */
  readonly failing: number;
  readonly firstFailure: { readonly record: number; readonly message: string } | undefined;
  /** Records that a node with `on_error: keep` lets go on before anything is sent. */
  readonly kept: number;
  /** The record whose failure ends the run; absent when none is known to. */
  readonly stopsAt: { readonly record: number; readonly why: 'on-error-stop' | 'max-errors' } | undefined;
  readonly actions: Range;
  readonly credits: Range;
  /** Whether nodes may be passed more than once. */
  readonly hasPasses: boolean;
  /** Whether nodes may ask for several pages, or for many records with one request. */
  readonly hasPages: boolean;
  readonly hasBatches: boolean;
  /** The nodes whose answers say what they really cost. */
  readonly costTold: readonly string[];
  /** Absent when nothing is sent. */
  readonly time: Duration | undefined;
  /** The first requests. */
  readonly requests: readonly ActionRequest[];
}

/** Gathers a forecast, record by record. Nothing is sent. */
export interface Forecaster {
  add(item: Item): Promise<void>;
  /** So many more records that are plain. */
  addPlain(count: number): void;
  /** The fields by whose values a record is plain; absent when no record is, or requests are still to be shown. */
  plainFields(): readonly string[] | undefined;
  /** How many records have failed so far. */
  failing(): number;
  forecast(): Forecast;
}

/** What the command line says, and how many requests are to be shown. */
export interface ForecastSettings {
  readonly shown: number;
  /** How many records may fail; absent for any number. */
  readonly maxErrors?: MaxErrors | undefined;
}

/** Makes a forecaster for a plan. */
export function createForecaster(plan: Plan, settings: ForecastSettings): Forecaster {
  const plain = plainRecords(plan);
  const steps = allSteps(plan.steps).filter(({ node }) => !node.inner);
  const indexes = new Map(steps.map((step, index) => [step, index]));
  const sketches = createSketches(steps);
  const demand = createDemand(steps);
  /** For each step, how many records make their first call there. */
  const reached = steps.map(() => 0);
  const groups = steps.map(createGroups);
  const requests: ActionRequest[] = [];
  const stopsAtFirst = allSteps(plan.steps).some(({ onError }) => onError === 'stop');
  let records = 0;
  let failing = 0;
  let passing = 0;
  let kept = 0;
  let firstFailure: Forecast['firstFailure'];
  let stopsAt: Forecast['stopsAt'];
  /** Of the record that is being looked at. */
  let calls = 0;
  let isKept = false;
  return {
    add,
    addPlain,
    plainFields: () => (requests.length < settings.shown ? undefined : plain?.fields),
    failing: () => failing,
    forecast() {
      const ranges = actionsOf(
        plan.steps,
        steps,
        reached.map((records, index) => ({ records, calls: groups[index]?.calls(), isCached: sketches.of(index)?.isCached ?? false })),
      );
      const fewest = stopsAt ? 0 : stopsAtFirst ? 1 : fewestSent(settings.maxErrors, { failing, passing });
      const prices = steps.map(({ node }) => node.action?.price.credits ?? 0);
      return {
        ...{ records, failing, firstFailure, kept, stopsAt, requests },
        actions: sum(ranges, () => 1, fewestCalls(fewest)),
        credits: sum(ranges, (index) => prices[index] as number, fewestCalls(fewest)),
        hasPasses: allSteps(plan.steps).some(({ node }) => node.inner),
        hasPages: steps.some(({ node }) => node.streams),
        hasBatches: steps.some(isBatched),
        costTold: steps.flatMap(({ id }, index) => (sketches.of(index)?.tellsCost ? [id] : [])),
        time: demand.time(ranges, reached, sketches.of),
      };
    },
  };

  /** One answer may be that of all records of a batch; from the cache, of any number. */
  function fewestCalls(records: number): number {
    if (records === Number.POSITIVE_INFINITY) return records;
    const shares = steps.map(({ node: { action } }) => (action?.isCached ? Number.POSITIVE_INFINITY : (action?.batchSize ?? 1)));
    return Math.ceil(records / Math.max(1, ...shares));
  }

  async function add(item: Item): Promise<void> {
    if (plain && requests.length >= settings.shown && !item.failure && plain.has(item.fields)) return addPlain(1);
    records++;
    calls = 0;
    isKept = false;
    try {
      if (item.failure) throw item.failure;
      await pass(plan.steps, item.fields, item);
      if (calls === 0) passing++;
      if (isKept) kept++;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (calls === 0) failed(item, error);
    }
  }

  function addPlain(count: number): void {
    records += count;
    reached[0] = (reached[0] as number) + count;
    demand.add(plain?.request as ActionRequest, count);
  }

  /** Brings a record as far as its first call; answers what came through without one. */
  async function pass(over: readonly Step[], fields: Fields, item: Item): Promise<Fields[]> {
    let current = fields;
    for (const [index, step] of over.entries()) {
      const rows = await passOne(step, current, item);
      if (rows.length !== 1) {
        const through: Fields[] = [];
        for (const row of rows) append(through, await pass(over.slice(index + 1), row, item));
        return through;
      }
      current = rows[0] as Fields;
    }
    return [current];
  }

  async function passOne(step: Step, fields: Fields, item: Item): Promise<readonly Fields[]> {
    const emitted: Fields[] = [];
    try {
      if (step.when && !step.when.evaluate(fields)) return [fields];
      if (step.node.action) {
        const unasked = step.node.action.unasked?.(fields);
        if (unasked) return [unasked];
        await arrived(indexes.get(step) as number, step.node.action.request(fields), fields);
        return [];
      }
      // What does not act needs no answers, so it is run for real.
      const rows = await step.node.run(fields, contextOf(step, item, emitted));
      return [...emitted, ...rows];
    } catch (error) {
      if (error === calledInside) return emitted;
      if (!(error instanceof Failure)) throw error;
      if (step.onError === 'stop') stopsAt ??= { record: item.number, why: 'on-error-stop' };
      const failure = failureAt(step, error, false);
      if (step.onError !== 'keep') throw failure;
      isKept = true;
      return [...emitted, withError(fields, failure, item)];
    }
  }

  function contextOf({ node }: Step, item: Item, emitted: Fields[]): NodeContext {
    if (!node.inner) return noContext;
    const { steps: inside } = node.inner;
    let nowMs = 0;
    const context: Pick<NodeContext, 'inner' | 'emit' | 'now' | 'waitUntil'> = {
      async inner(fields, _pass, take) {
        const before = calls;
        const rows = await pass(inside, fields, item);
        if (calls > before) throw calledInside;
        await take(rows);
        return undefined;
      },
      async emit(rows) {
        append(emitted, rows);
      },
      now: () => nowMs,
      async waitUntil(untilMs) {
        nowMs = Math.max(nowMs + 1, untilMs);
      },
    };
    return context as NodeContext;
  }

  async function arrived(index: number, request: ActionRequest, fields: Fields): Promise<void> {
    calls++;
    reached[index] = (reached[index] as number) + 1;
    groups[index]?.add(fields);
    demand.add(request, 1);
    if (requests.length < settings.shown) requests.push(request);
    if (sketches.of(index)?.isExact !== true) await sketches.draw(index, fields);
  }

  function failed({ number: record }: Item, { message }: Failure): void {
    failing++;
    firstFailure ??= { record, message };
    const { maxErrors } = settings;
    if (maxErrors && 'count' in maxErrors && failing > maxErrors.count) stopsAt ??= { record, why: 'max-errors' };
  }
}

/** Rows are more than a call can have arguments. */
function append(to: Fields[], rows: readonly Fields[]): void {
  for (const row of rows) to.push(row);
}

const noContext = {} as NodeContext;

/** Ends a node in which a record has come to its first call. */
const calledInside = new Unfinished();

/** `fewest`: a run may end after so many actions. */
function sum(ranges: readonly Range[], weightOf: (index: number) => number, fewest: number): Range {
  const all = (key: keyof Range) =>
    ranges.reduce((total, range, index) => (range[key] === 0 || weightOf(index) === 0 ? total : total + range[key] * weightOf(index)), 0);
  const cheapest = Math.min(...ranges.flatMap(({ least }, index) => (least > 0 ? weightOf(index) : [])));
  const least = fewest < all('least') ? Math.min(all('least'), fewest * cheapest) : all('least');
  return { least, expected: all('expected'), most: all('most') };
}
