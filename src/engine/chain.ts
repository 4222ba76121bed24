import type { FailureReport } from '../core/event.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, SpilledRows } from '../core/item.ts';
import type { NodeContext, Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { type Fields, withFields } from '../core/record.ts';
import type { JsonObject } from '../core/value/value.ts';
import { type Progress, reportOf } from './call.ts';
import { type ChainTools, contextOf, keptIn, type Scope, type Take, type Way, yielded } from './context.ts';
import { createHandingOn, FailedBehind } from './emit.ts';

/** Brings one record through the nodes; answers its output records. Throws a Failure, and Unfinished when the run ends before the record does. */
export type Pass = (item: Item, progress: Progress) => Promise<readonly Fields[] | SpilledRows>;

/** How many output records of one input record are worked on at once. The gates set the real limit. */
const rowsAtOnce = 64;

/** How many of them wait for batches at once, or a few more, so that they fill theirs: each takes some 4 kB. */
const rowsInBatches = 10_000;

/** Makes the chain of a plan's nodes. A record is one task; it succeeds or fails as a whole. */
export function createChain(plan: Pick<Plan, 'steps'>, tools: ChainTools): Pass {
  const isStreamed = plan.steps.some(({ node }) => node.streams);
  return (item, progress) => {
    if (item.failure) return Promise.reject(item.failure);
    if (item.parked) return Promise.resolve(item.parked);
    if (isStreamed) return passInParts(plan.steps, item, progress, tools);
    return passSteps(plan.steps, [item.fields], wayOf(item, progress, nothing), tools);
  };
}

function wayOf(item: Item, progress: Progress, take: Take): Way {
  return { item, progress, place: '', step: 0, isInner: false, isKept: false, take };
}

const nothing: Take = () => undefined;

async function passInParts(steps: readonly Step[], item: Item, progress: Progress, tools: ChainTools): Promise<SpilledRows> {
  const partial = tools.partialRows();
  try {
    // Where the output takes its time, more records may come.
    const take: Take = (rows) => tools.batches.during(0, Promise.resolve(partial.add(rows)));
    const rows = await passSteps(steps, [item.fields], wayOf(item, progress, take), tools);
    await partial.add(rows);
    return partial;
  } catch (error) {
    partial.drop();
    throw error;
  }
}

/** What comes out before a node is done goes to `way.take`, the rest is answered. */
function passSteps(steps: readonly Step[], rows: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  const [only] = steps;
  // Many records may wait here: each await less is memory.
  return only && steps.length === 1 && !only.node.streams ? passAll(only, rows, way, tools) : passInTurn(steps, rows, way, tools);
}

async function passInTurn(steps: readonly Step[], given: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  let rows = given;
  for (const [index, step] of steps.entries()) {
    const here = way.isInner || index === 0 ? way : { ...way, step: way.step + index };
    if (step.node.streams) {
      await passStreaming(step, steps.slice(index + 1), rows, here, tools);
      return [];
    }
    rows = await passAll(step, rows, here, tools);
  }
  return rows;
}

function passAll(step: Step, rows: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  return rows.length === 1 ? passOne(step, rows[0] as Fields, 0, way, tools) : passMany(step, rows, way, tools);
}

async function passMany(step: Step, rows: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  const results: (readonly Fields[])[] = [];
  const batchSize = largestBatch([step]);
  const atOnce = batchSize === 0 ? rowsAtOnce : Math.ceil(rowsInBatches / batchSize) * batchSize;
  // Where records gather, all that are begun come to their end before others are: so that batches are full.
  const together = batchSize === 0 ? rows.length : atOnce;
  for (let from = 0; from < rows.length; from += together) {
    // Where one fails, none of them comes out.
    await each(rows.slice(from, from + together), atOnce, { ...way, isKept: false }, async (fields, index, scope) => {
      results[from + index] = await passOne(step, fields, from + index, { ...way, scope }, tools);
    });
  }
  return results.flat();
}

/** How many records share a call at most in some steps; 0 where none do. */
function largestBatch(steps: readonly Step[]): number {
  return Math.max(0, ...allSteps(steps).map(({ node }) => node.action?.batchSize ?? 0));
}

type Act = (fields: Fields, index: number, scope: Scope) => Promise<void>;

/**
 * Brings records to their end, so many at once, begun in their order. After a failure nothing more is begun; it is thrown when all have ended.
 * Where what came before a failure stays, those before it are brought to their end, too.
 */
async function each(rows: readonly Fields[], atOnce: number, { scope: outer, isKept }: Way, act: Act): Promise<void> {
  let failedAt = Number.POSITIVE_INFINITY;
  const reasons: unknown[] = [];
  let next = 0;
  const scopeOf = (index: number): Scope => ({
    get hasFailed() {
      return failedAt < index;
    },
    outer,
  });
  const all = scopeOf(Number.POSITIVE_INFINITY);
  const worker = async () => {
    while (next < rows.length && !all.hasFailed) {
      const index = next++;
      try {
        await act(rows[index] as Fields, index, isKept ? scopeOf(index) : all);
      } catch (error) {
        failedAt = Math.min(failedAt, index);
        reasons[index] = error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, rows.length) }, worker));
  if (!all.hasFailed) return;
  // Behind one that has failed others are left unfinished.
  throw reasons.find((reason) => reason !== undefined && !(reason instanceof Unfinished)) ?? reasons.find(Boolean);
}

/** Brings records through a node that hands on what comes out of it, and that through the nodes behind it, in its order. */
async function passStreaming(step: Step, behind: readonly Step[], rows: readonly Fields[], way: Way, tools: ChainTools): Promise<void> {
  const most = largestBatch(behind);
  const ended: Promise<void>[] = [];
  await each(rows, Math.max(rowsAtOnce, largestBatch([step]), most), way, (fields, index, scope) => {
    const before = ended[index - 1];
    ended[index] = passHandingOn(fields, index, { ...way, scope }, before);
    return ended[index];
  });

  async function passHandingOn(fields: Fields, row: number, outer: Way, before: Promise<void> | undefined): Promise<void> {
    let hasFailed = false;
    const scope: Scope = {
      get hasFailed() {
        return hasFailed;
      },
      outer: outer.scope,
    };
    const here = { ...outer, scope };
    const next = way.isInner ? here : { ...here, step: way.step + 1 };
    const handingOn = createHandingOn({
      most,
      before,
      take: way.take,
      pass: (part, number, take) => passSteps(behind, part, { ...next, place: `${way.place}${row}.${number}.`, take }, tools),
    });
    try {
      await handingOn.emit(await passOne(step, fields, row, { ...here, emit: handingOn.emit }, tools));
      await handingOn.taken();
    } catch (error) {
      hasFailed = !way.isKept;
      await handingOn.ended();
      throw error instanceof FailedBehind ? error.reason : error;
    }
  }
}

/** Every record waits here, at every node: an async function would hold more memory meanwhile. */
function passOne(step: Step, fields: Fields, row: number, way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  // What a record has become may be much; records are read a few at a time.
  const turn = way.scope && yielded(way, tools);
  return turn ? turn.then(() => passNow(step, fields, row, way, tools)) : passNow(step, fields, row, way, tools);
}

function passNow(step: Step, fields: Fields, row: number, way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  const failed = (error: unknown) => unlessKept(step, error, fields, way, tools);
  try {
    if (step.when && !step.when.evaluate(fields)) return Promise.resolve([fields]);
    const context = contextOf({ step, way, row, chain: tools, passSteps });
    const ended = step.node.run(fields, context);
    return (step.node.inner ? ended.then(withKept(context, way, tools)) : ended).then(undefined, failed);
  } catch (error) {
    return Promise.reject(error).then(undefined, failed);
  }
}

/** Tells of what was kept inside a node once its records go on. */
function withKept(context: NodeContext, way: Way, tools: ChainTools): (rows: readonly Fields[]) => readonly Fields[] {
  return (rows) => {
    for (const report of keptIn(context)) tellKept(report, way, tools);
    return rows;
  };
}

function tellKept(report: FailureReport, { item, kept }: Way, { ports }: ChainTools): void {
  if (kept) kept.push(report);
  else ports.report({ type: 'record-kept', record: item.number, ...report });
}

/** What goes on after a failure. Throws it where nothing does. */
function unlessKept(step: Step, error: unknown, fields: Fields, way: Way, tools: ChainTools): readonly Fields[] {
  if (!(error instanceof Failure)) throw error;
  const failure = failureAt(step, error, way.progress.hasBegun);
  if (step.onError === 'keep') {
    tellKept(reportOf(failure), way, tools);
    return [withError(fields, failure, way.item)];
  }
  if (step.onError === 'stop') {
    const { number } = way.item;
    const reason = `record ${number} failed at ${failure.node}: ${failure.message}`;
    tools.stopping.request('on-error-stop', reason, Number.POSITIVE_INFINITY, number);
  }
  throw failure;
}

/** A failure as that of the step at which it came up. `hasBegun`: whether something was sent for the record. */
export function failureAt(step: Step, error: Failure, hasBegun: boolean): Failure {
  // A failure may be shared by records that waited for one answer.
  const isOwn = error.node === undefined;
  const failure = isOwn ? error : error.retold(error.message);
  // Of a node inside this one it is that one's.
  failure.node = (step.node.inner && error.node) ?? step.id;
  // What was wrong with an answer is found when its call is over; a node with others inside judges what those have sent.
  const wasSent = step.node.inner && isOwn ? hasBegun : failure.sent;
  if (failure.attempts === 0 && wasSent) failure.attempts = 1;
  return failure;
}

/** The record goes on without the node's fields, and says why. */
export function withError(fields: Fields, { node, kind, status, message, attempts }: Failure, { number: record }: Item): Fields {
  const error: JsonObject = { node: node ?? null, class: kind, status: status ?? null, message, attempts, record };
  return withFields(fields, [['_error', error]]);
}
