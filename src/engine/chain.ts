import type { HitSource } from '../core/event.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, Outcome, Part } from '../core/item.ts';
import type { NodeContext, Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
import type { Ports } from '../core/ports.ts';
import { type Fields, withFields } from '../core/record.ts';
import type { JsonObject } from '../core/value.ts';
import type { Batches } from './batches.ts';
import { type Caller, type Progress, type RunCall, reportOf, waitUntil } from './call.ts';
import type { Stopping } from './stopping.ts';

/** Brings one record through the nodes. Throws Unfinished when the run ends before the record does. */
export type Pass = (item: Item) => Promise<Outcome>;

/** What a chain needs around it. */
export interface ChainTools {
  readonly ports: Ports;
  readonly stopping: Stopping;
  readonly call: RunCall;
  readonly batches: Batches;
  /** A place for output records that come before their record is done. */
  part(): Part;
}

/** How many output records of one input record are worked on at once. The gates set the real limit. */
const rowsAtOnce = 64;

type Take = (rows: readonly Fields[]) => Promise<void> | void;

/** Where a record is on its way. */
interface Way {
  readonly item: Item;
  readonly progress: Progress;
  /** Which of the record's rows and passes: the same in every run. */
  readonly place: string;
  /** Which node of the flow, from 0. */
  readonly step: number;
  /** Whether it is inside that node. */
  readonly isInner: boolean;
  /** Takes what comes out of the nodes before the record is done, in its order. */
  readonly take: Take;
  /** Takes what a node that streams hands on; absent at other nodes. */
  readonly emit?: NodeContext['emit'];
  /** Takes what a server asks to wait before it is asked again; absent outside of nodes that ask again. */
  readonly asked?: ((waitMs: number) => void) | undefined;
}

/** Ends a node that has handed on records of which one has failed behind it. */
class FailedBehind extends Error {
  constructor(readonly reason: unknown) {
    super();
  }
}

/** Makes the chain of a plan's nodes. A record is one task; it succeeds or fails as a whole. */
export function createChain(plan: Pick<Plan, 'steps'>, tools: ChainTools): Pass {
  const isStreamed = plan.steps.some(({ node }) => node.streams);
  return async (item) => {
    if (item.failure) return { failure: item.failure };
    const part = isStreamed ? tools.part() : undefined;
    const take: Take = (rows) => part?.add(rows);
    const way: Way = { item, progress: { hasBegun: false }, place: '', step: 0, isInner: false, take };
    try {
      const rows = await passSteps(plan.steps, [item.fields], way, tools);
      if (!part) return { rows };
      await part.add(rows);
      return { part };
    } catch (error) {
      part?.drop();
      if (error instanceof Failure) return { failure: error };
      throw error;
    }
  };
}

/** What comes out before a node is done goes to `way.take`, the rest is answered. */
async function passSteps(steps: readonly Step[], given: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
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

async function passAll(step: Step, rows: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  if (rows.length === 1) return passOne(step, rows[0] as Fields, 0, way, tools);
  const results: (readonly Fields[])[] = [];
  // Those that wait for a batch hold nothing.
  const atOnce = (step.node.action?.batchSize ?? 1) > 1 ? rows.length : rowsAtOnce;
  await each(rows, atOnce, async (fields, index) => {
    results[index] = await passOne(step, fields, index, way, tools);
  });
  return results.flat();
}

/** Brings records to their end, so many at once, begun in their order. After a failure no more are begun; it is thrown when all have ended. */
async function each(rows: readonly Fields[], atOnce: number, act: (fields: Fields, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < rows.length && !hasFailed) {
      const index = next++;
      await act(rows[index] as Fields, index);
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, rows.length) }, () =>
    worker().catch((error: unknown) => {
      hasFailed = true;
      throw error;
    }),
  );
  const ended = await Promise.allSettled(workers);
  const reasons = ended.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  // Behind one that has failed others are left unfinished.
  if (reasons.length > 0) throw reasons.find((reason) => !(reason instanceof Unfinished)) ?? reasons[0];
}

/** Brings records through a node that hands on what comes out of it, and that through the nodes behind it, in its order. */
async function passStreaming(step: Step, behind: readonly Step[], rows: readonly Fields[], way: Way, tools: ChainTools): Promise<void> {
  const ended: Promise<void>[] = [];
  await each(rows, rowsAtOnce, (fields, index) => {
    const before = ended[index - 1];
    ended[index] = passHandingOn(fields, index, before);
    return ended[index];
  });

  /** One part at a time is behind the node, while it gets the next one. */
  async function passHandingOn(fields: Fields, row: number, before: Promise<void> | undefined): Promise<void> {
    let parts = 0;
    let handedOn = Promise.resolve();
    const emit = async (emitted: readonly Fields[]) => {
      await before?.catch(() => {
        throw new Unfinished();
      });
      await handedOn.catch((reason: unknown) => {
        throw new FailedBehind(reason);
      });
      handedOn = passBehind(emitted, `${row}.${parts++}.`);
      handedOn.catch(() => undefined);
    };
    try {
      await emit(await passOne(step, fields, row, { ...way, emit }, tools));
      await handedOn;
    } catch (error) {
      throw error instanceof FailedBehind ? error.reason : error;
    }
  }

  async function passBehind(emitted: readonly Fields[], place: string): Promise<void> {
    if (emitted.length === 0) return;
    const next = { ...way, place: way.place + place, step: way.isInner ? way.step : way.step + 1 };
    const rows = await passSteps(behind, emitted, next, tools);
    await tools.batches.during(way.step, Promise.resolve(way.take(rows)));
  }
}

async function passOne(step: Step, fields: Fields, row: number, way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  try {
    if (step.when && !step.when.evaluate(fields)) return [fields];
    return await step.node.run(fields, contextOf(step, { ...way, place: `${way.place}${row}` }, tools));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const failure = failureAt(step, error);
    if (step.onError === 'keep') return [kept(fields, failure, way.item, tools)];
    if (step.onError === 'stop') {
      tools.stopping.request('on-error-stop', `record ${way.item.number} failed at ${failure.node}: ${failure.message}`);
    }
    throw failure;
  }
}

function failureAt(step: Step, error: Failure): Failure {
  // A failure may be shared by records that waited for one answer.
  const failure = error.node === undefined ? error : error.retold(error.message);
  // Of a node inside this one it is that one's.
  failure.node = (step.node.inner && error.node) ?? step.id;
  // What was wrong with an answer is found when its call is over.
  if (failure.attempts === 0 && failure.sent) failure.attempts = 1;
  return failure;
}

/** The record goes on without the node's fields, and says why. */
function kept(fields: Fields, failure: Failure, item: Item, { ports }: ChainTools): Fields {
  const report = reportOf(failure);
  ports.report({ type: 'record-kept', record: item.number, ...report });
  const { node, class: kind, status, message, attempts } = report;
  const error: JsonObject = { node: node ?? null, class: kind, status: status ?? null, message, attempts, record: item.number };
  return withFields(fields, [['_error', error]]);
}

function contextOf(step: Step, way: Way, tools: ChainTools): NodeContext {
  const { ports, call, batches } = tools;
  const { item, progress, place, asked } = way;
  const record = item.number;
  const caller: Caller = { record, node: step.id, progress, asked };
  const hit = (source: HitSource) =>
    ports.report({ type: 'cache-hit', record, node: step.id, source, credits: step.node.action?.price.credits ?? 0 });
  return {
    http: ports.http,
    call: (spec) => batches.during(way.step, call(spec, caller)),
    cached: (key, maxAgeMs, produce) => batches.during(way.step, ports.cache.through(key, maxAgeMs, produce, hit)),
    mapped: (paths, found) => ports.report({ type: 'mapped', record, node: step.id, paths, found }),
    gather: (entry, batch) => batches.join(batch, entry, { caller, step: way.step, isInner: way.isInner }),
    idempotencyKey: (part) => ports.uuidOf(`${record}/${step.id}/${place}${part === undefined ? '' : `/${part}`}`),
    emit: (rows) => (way.emit as NodeContext['emit'])(rows),
    async inner(fields, pass, take) {
      let askedToWaitMs: number | undefined;
      const asked = (waitMs: number) => {
        askedToWaitMs = Math.max(askedToWaitMs ?? 0, waitMs);
      };
      const inside = { ...way, place: `${place}.${pass}.`, isInner: true, take, asked };
      await take(await passSteps(step.node.inner?.steps ?? [], [fields], inside, tools));
      return askedToWaitMs;
    },
    now: ports.clock.now,
    waitUntil: (untilMs) => waitUntil(untilMs, tools),
  };
}
