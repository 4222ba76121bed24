import type { FailureReport } from '../core/event.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, SpilledRows } from '../core/item.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { type Fields, withFields } from '../core/record.ts';
import type { JsonObject } from '../core/value/value.ts';
import { type Progress, reportOf } from './call.ts';
import { type ChainPosition, type ChainTools, type PassingChain, RecordContext, type RowGroup, yieldIfLong } from './context.ts';
import { Emitter, LaterFailure, type RowSink } from './emit.ts';
import { StepWatch } from './failure-limits.ts';

/** Maximum number of rows of one input record that are processed at the same time. The gates set the actual limit. */
const maxRowsAtOnce = 64;

/** Maximum number of rows of one record that wait for batches, before rounding up to fill the last batch. Each needs about 4 kB. */
const maxRowsInBatches = 10_000;

/** The chain of a flow's nodes. Each record passes through it as one task, and succeeds or fails as a whole. */
export class Chain implements PassingChain {
  readonly tools: ChainTools;
  readonly reportedOnce = new Set<string>();
  readonly #steps: readonly Step[];
  readonly #streams: boolean;
  readonly #watches = new Map<Step, StepWatch>();

  constructor({ steps }: Pick<Plan, 'steps'>, tools: ChainTools) {
    this.#steps = steps;
    this.#streams = steps.some(({ node }) => node.streams);
    this.tools = tools;
  }

  /** Rejects with a Failure, or with Unfinished if the run ends before the record does. */
  pass(item: Item, progress: Progress): Promise<readonly Fields[] | SpilledRows> {
    if (item.failure) return Promise.reject(item.failure);
    if (this.#streams) return this.#passInParts(item, progress);
    return this.passSteps(this.#steps, [item.fields], startOf(item, progress, noSink));
  }

  passSteps(steps: readonly Step[], rows: readonly Fields[], position: ChainPosition): Promise<readonly Fields[]> {
    const [only] = steps;
    // Thousands of records can wait here. So a single step runs without the extra async function, which saves memory.
    return only && steps.length === 1 && !only.node.streams ? this.#passAll(only, rows, position) : this.#passInTurn(steps, rows, position);
  }

  askStep(step: Step, fields: Fields, position: ChainPosition): Promise<readonly Fields[] | Failure | undefined> {
    const failed = (error: unknown) => {
      if (!(error instanceof Failure) || step.onError === 'stop') return this.#afterFailure(step, fields, position, error);
      return failureAt(step, error, position.progress.hasBegun);
    };
    try {
      if (step.when && !step.when.evaluate(fields, this.tools.ports.clock)) return Promise.resolve(undefined);
      const context = new RecordContext(step, position, 0, this);
      const ended = step.node.run(fields, context);
      return (step.node.inner ? ended.then((rows) => this.#reportPassed(context, rows)) : ended).then(undefined, failed);
    } catch (error) {
      return Promise.reject(error).then(undefined, failed);
    }
  }

  watchOf(step: Step): StepWatch | undefined {
    const { giveUp } = this.tools;
    const known = this.#watches.get(step);
    if (known || !giveUp) return known;
    const watch = new StepWatch(step.id, giveUp);
    this.#watches.set(step, watch);
    return watch;
  }

  async #passInParts(item: Item, progress: Progress): Promise<SpilledRows> {
    const partial = this.tools.partialRows();
    try {
      // Batches stay open while the output is slow, because more rows might join them.
      const take: RowSink = (rows) => this.tools.batches.busyWhile(0, Promise.resolve(partial.add(rows)));
      const rows = await this.passSteps(this.#steps, [item.fields], startOf(item, progress, take));
      await partial.add(rows);
      return partial;
    } catch (error) {
      partial.drop();
      throw error;
    }
  }

  async #passInTurn(steps: readonly Step[], given: readonly Fields[], position: ChainPosition): Promise<readonly Fields[]> {
    let rows = given;
    for (const [index, step] of steps.entries()) {
      const here = position.isInner || index === 0 ? position : { ...position, step: position.step + index };
      if (step.node.streams) {
        await this.#passStreaming(steps.slice(index), rows, here);
        return [];
      }
      rows = await this.#passAll(step, rows, here);
    }
    return rows;
  }

  #passAll(step: Step, rows: readonly Fields[], position: ChainPosition): Promise<readonly Fields[]> {
    return rows.length === 1 ? this.#passOne(step, rows[0] as Fields, 0, position) : this.#passMany(step, rows, position);
  }

  async #passMany(step: Step, rows: readonly Fields[], position: ChainPosition): Promise<readonly Fields[]> {
    const results: (readonly Fields[])[] = [];
    const batchSize = largestBatch([step]);
    const atOnce = batchSize === 0 ? maxRowsAtOnce : Math.ceil(maxRowsInBatches / batchSize) * batchSize;
    // With batches, all rows of one round finish before the next round begins, so that batches are filled.
    const round = batchSize === 0 ? rows.length : atOnce;
    for (let from = 0; from < rows.length; from += round) {
      // Does not keep the rows before a failed row: if one row fails, this step returns no rows at all.
      await forEachRow(rows.slice(from, from + round), atOnce, { ...position, keepsEarlier: false }, async (fields, index, group) => {
        results[from + index] = await this.#passOne(step, fields, from + index, { ...position, group });
      });
    }
    return results.flat();
  }

  /** The node emits rows before it has finished. They run through the later nodes. */
  async #passStreaming([step, ...later]: readonly Step[], rows: readonly Fields[], position: ChainPosition): Promise<void> {
    const max = largestBatch(later);
    const node = step as Step;
    const ended: Promise<void>[] = [];
    await forEachRow(rows, Math.max(maxRowsAtOnce, largestBatch([node]), max), position, (fields, index, group) => {
      const rowGroup = { hasFailed: false, outer: group };
      const here = { ...position, group: rowGroup };
      const next = position.isInner ? here : { ...here, step: position.step + 1 };
      const emitter = new Emitter({
        max,
        before: ended[index - 1],
        take: position.take,
        pass: (part, number, take) => this.passSteps(later, part, { ...next, place: `${position.place}${index}.${number}.`, take }),
      });
      ended[index] = this.#passOne(node, fields, index, { ...here, emitter })
        .then((rest) => emitter.emit(rest))
        .then(() => emitter.drained())
        .catch(async (error) => {
          rowGroup.hasFailed = !position.keepsEarlier;
          await emitter.ended();
          throw error instanceof LaterFailure ? error.reason : error;
        });
      return ended[index];
    });
  }

  /** Runs one row through a step. Not async, which would use more memory: every record waits here at every node. */
  #passOne(step: Step, fields: Fields, row: number, position: ChainPosition): Promise<readonly Fields[]> {
    // A record that is about to join a batch does not yield to the event loop. Otherwise, the batch would be sent without it.
    const joinsBatch = step.node.action?.batchSize !== undefined && !position.group;
    const turn = joinsBatch ? undefined : yieldIfLong(position, this.tools);
    // All rows that have yielded resume in the same turn of the event loop. When this row resumes, that turn might already have lasted too
    // long, so the row checks once more.
    if (turn) return turn.then(() => this.#passOne(step, fields, row, position));
    const failed = (error: unknown) => this.#afterFailure(step, fields, position, error);
    try {
      if (step.when && !step.when.evaluate(fields, this.tools.ports.clock)) return Promise.resolve([fields]);
      const context = new RecordContext(step, position, row, this);
      const ended = step.node.run(fields, context);
      const { inner } = step.node;
      const { answers } = this.tools.ports;
      if (inner?.waits && answers) void ended.catch(() => undefined).then(() => answers.endPoll(context.record, context.place));
      return (inner ? ended.then((rows) => this.#reportPassed(context, rows)) : ended).then(undefined, failed);
    } catch (error) {
      return Promise.reject(error).then(undefined, failed);
    }
  }

  /** Failures that `on_error: keep` has passed through are reported only now, because until now the rows could still be discarded. */
  #reportPassed({ passedFailures = [], position }: RecordContext, rows: readonly Fields[]): readonly Fields[] {
    for (const report of passedFailures) this.#reportPassedFailure(report, position);
    return rows;
  }

  #reportPassedFailure(report: FailureReport, { item, passedFailures }: ChainPosition): void {
    if (passedFailures) passedFailures.push(report);
    else this.tools.ports.report({ type: 'record-passed-through', record: item.number, ...report });
  }

  /** Returns the record with an `_error` field if it continues after the failure. Otherwise throws the failure. */
  #afterFailure(step: Step, fields: Fields, position: ChainPosition, error: unknown): readonly Fields[] {
    if (!(error instanceof Failure)) throw error;
    const failure = failureAt(step, error, position.progress.hasBegun);
    if (step.onError === 'keep') {
      this.#reportPassedFailure(reportOf(failure), position);
      return [withError(fields, failure, position.item)];
    }
    if (step.onError === 'stop') {
      const { number } = position.item;
      const message = `record ${number} failed at ${failure.node}: ${failure.message}`;
      const { code, details } = failure;
      this.tools.phase.advance('finishing', { ending: 'on-error-stop', message, code, details, before: number });
    }
    throw failure;
  }
}

function startOf(item: Item, progress: Progress, take: RowSink): ChainPosition {
  return { item, progress, place: '', step: 0, isInner: false, keepsEarlier: false, take };
}

const noSink: RowSink = () => undefined;

function largestBatch(steps: readonly Step[]): number {
  return Math.max(0, ...allSteps(steps).map(({ node }) => node.action?.batchSize ?? 0));
}

type RowAction = (fields: Fields, index: number, group: RowGroup) => Promise<void>;

/**
 * Calls `act` for each row in order, for at most `atOnce` rows at a time. After a failure, begins no more rows, waits for those that have
 * begun, and throws the failure. If `keepsEarlier` is true, the rows before the failed row are still completed.
 */
async function forEachRow(
  rows: readonly Fields[],
  atOnce: number,
  { group: outer, keepsEarlier }: ChainPosition,
  act: RowAction,
): Promise<void> {
  let failedAt = Number.POSITIVE_INFINITY;
  const reasons: unknown[] = [];
  let next = 0;
  const groupOf = (index: number): RowGroup => ({
    get hasFailed() {
      return failedAt < index;
    },
    outer,
  });
  const all = groupOf(Number.POSITIVE_INFINITY);
  const worker = async () => {
    while (next < rows.length && !all.hasFailed) {
      const index = next++;
      try {
        await act(rows[index] as Fields, index, keepsEarlier ? groupOf(index) : all);
      } catch (error) {
        failedAt = Math.min(failedAt, index);
        reasons[index] = error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, rows.length) }, worker));
  if (!all.hasFailed) return;
  // If one row fails, the other rows end with Unfinished. So the error to throw is the first one that is not Unfinished.
  throw reasons.find((reason) => reason !== undefined && !(reason instanceof Unfinished)) ?? reasons.find(Boolean);
}

/** Adds the id of the step. `hasBegun` is true if a request was sent for the record. */
export function failureAt(step: Step, error: Failure, hasBegun: boolean): Failure {
  // Records that waited for the same response receive the same failure object, so all but the first need a copy.
  const isOwn = error.node === undefined;
  const failure = isOwn ? error : error.withMessage(error.message);
  // If a node inside this step failed, the failure keeps that node's id.
  failure.node = (step.node.inner && error.node) ?? step.id;
  // If this step has inner nodes and finds the failure itself, the failure counts as sent if a request was sent for the record.
  const wasSent = step.node.inner && isOwn ? hasBegun : failure.sent;
  if (failure.attempts === 0 && wasSent) failure.attempts = 1;
  return failure;
}

/** Leaves out the fields that the failed node would have added. */
export function withError(fields: Fields, { node, kind, status, message, attempts }: Failure, { number: record }: Item): Fields {
  const error: JsonObject = { node: node ?? null, class: kind, status: status ?? null, message, attempts, record };
  return withFields(fields, [['_error', error]]);
}
