import type { FailureReport } from '../core/event.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, SpilledRows } from '../core/item.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { type Fields, withFields } from '../core/record.ts';
import type { JsonObject } from '../core/value/value.ts';
import { type Progress, reportOf } from './call.ts';
import { type ChainTools, type PassingChain, type Position, RecordContext, type RowGroup, yieldIfLong } from './context.ts';
import { Emitter, LaterFailure, type RowSink } from './emit.ts';

/** Maximum of output records of one input record that are worked on at once. The gates set the real limit. */
const maxRowsAtOnce = 64;

/** Maximum of output records of one input record that wait for batches at once, rounded up to fill the last batch. Each takes about 4 kB. */
const maxRowsInBatches = 10_000;

/** The nodes of a plan. A record passes them as one task; it succeeds or fails as a whole. */
export class Chain implements PassingChain {
  readonly tools: ChainTools;
  readonly #steps: readonly Step[];
  readonly #streams: boolean;

  constructor({ steps }: Pick<Plan, 'steps'>, tools: ChainTools) {
    this.#steps = steps;
    this.#streams = steps.some(({ node }) => node.streams);
    this.tools = tools;
  }

  /** Brings one record through the nodes; answers its output records. Throws a Failure, and Unfinished when the run ends before the record does. */
  pass(item: Item, progress: Progress): Promise<readonly Fields[] | SpilledRows> {
    if (item.failure) return Promise.reject(item.failure);
    if (this.#streams) return this.#passInParts(item, progress);
    return this.passSteps(this.#steps, [item.fields], startOf(item, progress, noSink));
  }

  passSteps(steps: readonly Step[], rows: readonly Fields[], position: Position): Promise<readonly Fields[]> {
    const [only] = steps;
    // Thousands of records may wait here: one await less saves memory.
    return only && steps.length === 1 && !only.node.streams ? this.#passAll(only, rows, position) : this.#passInTurn(steps, rows, position);
  }

  async #passInParts(item: Item, progress: Progress): Promise<SpilledRows> {
    const partial = this.tools.partialRows();
    try {
      // While the output is slow, more records may come to a batch.
      const take: RowSink = (rows) => this.tools.batches.busyWhile(0, Promise.resolve(partial.add(rows)));
      const rows = await this.passSteps(this.#steps, [item.fields], startOf(item, progress, take));
      await partial.add(rows);
      return partial;
    } catch (error) {
      partial.drop();
      throw error;
    }
  }

  async #passInTurn(steps: readonly Step[], given: readonly Fields[], position: Position): Promise<readonly Fields[]> {
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

  #passAll(step: Step, rows: readonly Fields[], position: Position): Promise<readonly Fields[]> {
    return rows.length === 1 ? this.#passOne(step, rows[0] as Fields, 0, position) : this.#passMany(step, rows, position);
  }

  async #passMany(step: Step, rows: readonly Fields[], position: Position): Promise<readonly Fields[]> {
    const results: (readonly Fields[])[] = [];
    const batchSize = largestBatch([step]);
    const atOnce = batchSize === 0 ? maxRowsAtOnce : Math.ceil(maxRowsInBatches / batchSize) * batchSize;
    // To fill batches, all rows of one round end before the next round begins.
    const round = batchSize === 0 ? rows.length : atOnce;
    for (let from = 0; from < rows.length; from += round) {
      // If one row fails, no row comes out.
      await forEachRow(rows.slice(from, from + round), atOnce, { ...position, keepsEarlier: false }, async (fields, index, group) => {
        results[from + index] = await this.#passOne(step, fields, from + index, { ...position, group });
      });
    }
    return results.flat();
  }

  /** Brings records through a node that streams, and the rows that it emits through the later nodes. */
  async #passStreaming([step, ...later]: readonly Step[], rows: readonly Fields[], position: Position): Promise<void> {
    const max = largestBatch(later);
    const node = step as Step;
    const ended: Promise<void>[] = [];
    await forEachRow(rows, Math.max(maxRowsAtOnce, largestBatch([node]), max), position, (fields, index, group) => {
      const rowGroup = new OneRow(group);
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

  /** Every record waits here, at every node: an async function would hold more memory meanwhile. */
  #passOne(step: Step, fields: Fields, row: number, position: Position): Promise<readonly Fields[]> {
    // A record that is about to join a batch does not yield: the batch would be sent without it.
    const joinsBatch = step.node.action?.batchSize !== undefined && !position.group;
    const turn = joinsBatch ? undefined : yieldIfLong(position, this.tools);
    // All records that yielded resume in one turn, and the first record may use it up.
    return turn ? turn.then(() => this.#passOne(step, fields, row, position)) : this.#passNow(step, fields, row, position);
  }

  #passNow(step: Step, fields: Fields, row: number, position: Position): Promise<readonly Fields[]> {
    const failed = (error: unknown) => this.#afterFailure(step, fields, position, error);
    try {
      if (step.when && !step.when.evaluate(fields)) return Promise.resolve([fields]);
      const context = new RecordContext(step, position, row, this);
      const ended = step.node.run(fields, context);
      return (step.node.inner ? ended.then((rows) => this.#reportPassed(context, rows)) : ended).then(undefined, failed);
    } catch (error) {
      return Promise.reject(error).then(undefined, failed);
    }
  }

  /** Reports the failures that `on_error: keep` has passed through inside a node, once the node's rows go on. */
  #reportPassed({ passedFailures = [], position }: RecordContext, rows: readonly Fields[]): readonly Fields[] {
    for (const report of passedFailures) this.#reportPassedFailure(report, position);
    return rows;
  }

  #reportPassedFailure(report: FailureReport, { item, passedFailures }: Position): void {
    if (passedFailures) passedFailures.push(report);
    else this.tools.ports.report({ type: 'record-passed-through', record: item.number, ...report });
  }

  /** The record that goes on after a failure. Throws the failure if the record does not go on. */
  #afterFailure(step: Step, fields: Fields, position: Position, error: unknown): readonly Fields[] {
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

function startOf(item: Item, progress: Progress, take: RowSink): Position {
  return { item, progress, place: '', step: 0, isInner: false, keepsEarlier: false, take };
}

const noSink: RowSink = () => undefined;

/** The rows that one row becomes at a node that streams. */
class OneRow implements RowGroup {
  hasFailed = false;
  constructor(readonly outer: RowGroup) {}
}

/** Size of the largest batch in some steps; 0 if there is none. */
function largestBatch(steps: readonly Step[]): number {
  return Math.max(0, ...allSteps(steps).map(({ node }) => node.action?.batchSize ?? 0));
}

type RowAction = (fields: Fields, index: number, group: RowGroup) => Promise<void>;

/**
 * Acts on rows in their order, at most `atOnce` at a time. After a failure no more rows begin; it is thrown when all have ended.
 * If the position keeps earlier output, the rows before the failed one still end.
 */
async function forEachRow(
  rows: readonly Fields[],
  atOnce: number,
  { group: outer, keepsEarlier }: Position,
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
  // Rows after the failed one are left unfinished: they are not the reason.
  throw reasons.find((reason) => reason !== undefined && !(reason instanceof Unfinished)) ?? reasons.find(Boolean);
}

/** The failure of a record, with the step where it occurred. `hasBegun`: true if a request was sent for the record. */
export function failureAt(step: Step, error: Failure, hasBegun: boolean): Failure {
  // Records that waited for one answer share its failure.
  const isOwn = error.node === undefined;
  const failure = isOwn ? error : error.withMessage(error.message);
  // The failure of an inner node keeps that node's id.
  failure.node = (step.node.inner && error.node) ?? step.id;
  // A problem in an answer is found after the call was sent. For a node with inner nodes, the calls of the inner nodes count.
  const wasSent = step.node.inner && isOwn ? hasBegun : failure.sent;
  if (failure.attempts === 0 && wasSent) failure.attempts = 1;
  return failure;
}

/** The record without the node's fields, with the failure as `_error`. */
export function withError(fields: Fields, { node, kind, status, message, attempts }: Failure, { number: record }: Item): Fields {
  const error: JsonObject = { node: node ?? null, class: kind, status: status ?? null, message, attempts, record };
  return withFields(fields, [['_error', error]]);
}
