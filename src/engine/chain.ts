import type { HitSource } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import type { Item, Outcome } from '../core/item.ts';
import type { NodeContext, Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
import type { Ports } from '../core/ports.ts';
import { type Fields, withFields } from '../core/record.ts';
import type { JsonObject } from '../core/value.ts';
import { type Caller, type Progress, type RunCall, reportOf, waitUntil } from './call.ts';
import type { Stopping } from './stopping.ts';

/** Brings one record through the nodes. Throws Unfinished when the run ends before the record does. */
export type Pass = (item: Item) => Promise<Outcome>;

/** What a chain needs around it. */
export interface ChainTools {
  readonly ports: Ports;
  readonly stopping: Stopping;
  readonly call: RunCall;
}

/** How many output records of one input record are worked on at once. The gates set the real limit. */
const rowsAtOnce = 64;

/** Where a record is on its way. */
interface Way {
  readonly item: Item;
  readonly progress: Progress;
  /** Which of the record's rows and passes: the same in every run. */
  readonly place: string;
  /** Takes what a server asks to wait before it is asked again; absent outside of nodes that ask again. */
  readonly asked?: ((waitMs: number) => void) | undefined;
}

/** Makes the chain of a plan's nodes. A record is one task; it succeeds or fails as a whole. */
export function createChain(plan: Pick<Plan, 'steps'>, tools: ChainTools): Pass {
  return async (item) => {
    if (item.failure) return { failure: item.failure };
    try {
      return { rows: await passSteps(plan.steps, item.fields, { item, progress: { hasBegun: false }, place: '' }, tools) };
    } catch (error) {
      if (error instanceof Failure) return { failure: error };
      throw error;
    }
  };
}

async function passSteps(steps: readonly Step[], fields: Fields, way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  let rows: readonly Fields[] = [fields];
  for (const step of steps) rows = await passAll(step, rows, way, tools);
  return rows;
}

async function passAll(step: Step, rows: readonly Fields[], way: Way, tools: ChainTools): Promise<readonly Fields[]> {
  if (rows.length === 1) return passOne(step, rows[0] as Fields, 0, way, tools);
  const results: (readonly Fields[])[] = [];
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < rows.length && !hasFailed) {
      const index = next++;
      results[index] = await passOne(step, rows[index] as Fields, index, way, tools);
    }
  };
  const workers = Array.from({ length: Math.min(rowsAtOnce, rows.length) }, () =>
    worker().catch((error: unknown) => {
      hasFailed = true;
      throw error;
    }),
  );
  const ended = await Promise.allSettled(workers);
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.flat();
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
  const { ports, call } = tools;
  const { item, progress, place, asked } = way;
  const record = item.number;
  const caller: Caller = { record, node: step.id, progress, asked };
  const hit = (source: HitSource) =>
    ports.report({ type: 'cache-hit', record, node: step.id, source, credits: step.node.action?.price.credits ?? 0 });
  return {
    http: ports.http,
    tools: ports.tools,
    call: (spec) => call(spec, caller),
    cached: (key, maxAgeMs, produce) => ports.cache.through(key, maxAgeMs, produce, hit),
    mapped: (paths, found) => ports.report({ type: 'mapped', record, node: step.id, paths, found }),
    progressed: (tool, progress) => ports.report({ type: 'tool-progress', record, node: step.id, tool, ...progress }),
    idempotencyKey: () => ports.uuidOf(`${record}/${step.id}/${place}`),
    async inner(fields, pass) {
      let askedToWaitMs: number | undefined;
      const asked = (waitMs: number) => {
        askedToWaitMs = Math.max(askedToWaitMs ?? 0, waitMs);
      };
      const rows = await passSteps(step.node.inner?.steps ?? [], fields, { item, progress, place: `${place}.${pass}.`, asked }, tools);
      return { rows, askedToWaitMs };
    },
    now: ports.clock.now,
    waitUntil: (untilMs) => waitUntil(untilMs, tools),
  };
}
