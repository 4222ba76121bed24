import { Failure } from '../core/failure.ts';
import type { Item, Outcome } from '../core/item.ts';
import type { NodeContext } from '../core/node.ts';
import type { Plan, Step } from '../core/plan.ts';
import type { Ports } from '../core/ports.ts';
import { type Fields, withFields } from '../core/record.ts';
import type { JsonObject } from '../core/value.ts';
import { type Caller, type Progress, type RunCall, reportOf } from './call.ts';
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

/** Makes the chain of a plan's nodes. A record is one task; it succeeds or fails as a whole. */
export function createChain(plan: Plan, tools: ChainTools): Pass {
  return async (item) => {
    if (item.failure) return { failure: item.failure };
    const progress = { hasBegun: false };
    try {
      let rows: readonly Fields[] = [item.fields];
      for (const step of plan.steps) rows = await passAll(step, rows, item, progress, tools);
      return { rows };
    } catch (error) {
      if (error instanceof Failure) return { failure: error };
      throw error;
    }
  };
}

async function passAll(step: Step, rows: readonly Fields[], item: Item, progress: Progress, tools: ChainTools): Promise<readonly Fields[]> {
  if (rows.length === 1) return passOne(step, rows[0] as Fields, 0, item, progress, tools);
  const results: (readonly Fields[])[] = [];
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < rows.length && !hasFailed) {
      const index = next++;
      results[index] = await passOne(step, rows[index] as Fields, index, item, progress, tools);
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

async function passOne(
  step: Step,
  fields: Fields,
  row: number,
  item: Item,
  progress: Progress,
  tools: ChainTools,
): Promise<readonly Fields[]> {
  try {
    if (step.when && !step.when.evaluate(fields)) return [fields];
    return await step.node.run(fields, contextOf(step, row, item, progress, tools));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // A failure may be shared by records that waited for one answer.
    const failure = error.node === undefined ? error : error.retold(error.message);
    failure.node = step.id;
    // What was wrong with an answer is found when its call is over.
    if (failure.attempts === 0 && failure.sent) failure.attempts = 1;
    if (step.onError === 'keep') return [kept(fields, failure, item, tools)];
    if (step.onError === 'stop') {
      tools.stopping.request('on-error-stop', `record ${item.number} failed at ${step.id}: ${failure.message}`);
    }
    throw failure;
  }
}

/** The record goes on without the node's fields, and says why. */
function kept(fields: Fields, failure: Failure, item: Item, { ports }: ChainTools): Fields {
  const report = reportOf(failure);
  ports.report({ type: 'record-kept', record: item.number, ...report });
  const { node, class: kind, status, message, attempts } = report;
  const error: JsonObject = { node: node ?? null, class: kind, status: status ?? null, message, attempts, record: item.number };
  return withFields(fields, [['_error', error]]);
}

function contextOf(step: Step, row: number, item: Item, progress: Progress, { ports, call }: ChainTools): NodeContext {
  const record = item.number;
  const caller: Caller = { record, node: step.id, progress };
  return {
    http: ports.http,
    call: (spec) => call(spec, caller),
    cached: (key, maxAgeMs, produce) => ports.cache.through(key, maxAgeMs, produce),
    mapped: (paths, found) => ports.report({ type: 'mapped', record, node: step.id, paths, found }),
    idempotencyKey: () => ports.uuidOf(`${record}/${step.id}/${row}`),
  };
}
