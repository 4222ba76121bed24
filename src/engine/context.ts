import type { HitSource } from '../core/event.ts';
import { Unfinished } from '../core/failure.ts';
import type { Item, Part } from '../core/item.ts';
import type { Heard, NodeContext, Step } from '../core/node.ts';
import type { Ports } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { Batches } from './batches.ts';
import { type Caller, type Progress, type RunCall, waitUntil } from './call.ts';
import type { Stopping } from './stopping.ts';

/** What a chain needs around it. */
export interface ChainTools {
  readonly ports: Ports;
  readonly stopping: Stopping;
  readonly call: RunCall;
  readonly batches: Batches;
  /** A place for output records that come before their record is done. */
  part(): Part;
}

/** Takes output records as they come, in their order. */
export type Take = (rows: readonly Fields[]) => Promise<void> | void;

/** The records that one record has become at a node: when one of them has failed, nothing more is begun for the others. */
export interface Scope {
  hasFailed: boolean;
  readonly outer: Scope | undefined;
}

/** Where a record is on its way. */
export interface Way {
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
  /** Absent while the record is one. */
  readonly scope?: Scope | undefined;
  /** Takes what a node that streams hands on; absent at other nodes. */
  readonly emit?: NodeContext['emit'];
  /** Takes what is heard of servers; absent outside of nodes that ask again. */
  readonly heard?: ((answer: Heard) => void) | undefined;
}

/** Brings records through nodes. What comes out before a node is done goes to `way.take`, the rest is answered. */
export type PassSteps = (steps: readonly Step[], rows: readonly Fields[], way: Way, tools: ChainTools) => Promise<readonly Fields[]>;

/** What a context knows besides its methods. */
interface Own {
  readonly step: Step;
  readonly way: Way;
  /** Which of the record's rows it is, from 0. */
  readonly row: number;
  readonly tools: ChainTools;
  readonly passSteps: PassSteps;
}

/** What a node may use while it works on a record. There is one for every record at every node, so they share their methods. */
export function contextOf({ step, way, row, tools, passSteps }: Own): NodeContext {
  return { __proto__: methods, http: tools.ports.http, step, way, row, tools, passSteps } as unknown as NodeContext;
}

/** Records that wake at about the same time may share a batch: so long before they count as those that are awake. */
const awakeMs = 20;

const methods: Omit<NodeContext, 'http'> & ThisType<Own> = {
  call(spec) {
    const { way, tools } = this;
    return tools.batches.during(way.step, tools.call(spec, callerOf(this)));
  },
  cached(key, maxAgeMs, produce) {
    const { step, way, tools } = this;
    const hit = (source: HitSource) => {
      const credits = step.node.action?.price.credits ?? 0;
      tools.ports.report({ type: 'cache-hit', record: way.item.number, node: step.id, source, credits });
    };
    return tools.batches.during(way.step, tools.ports.cache.through(key, maxAgeMs, produce, hit));
  },
  gather(entry, batch) {
    const { way, tools } = this;
    if (isLost(way.scope)) return Promise.reject(new Unfinished());
    return tools.batches.join(batch, entry, { caller: callerOf(this), step: way.step, isInner: way.isInner });
  },
  mapped(paths, found) {
    const { step, way, tools } = this;
    tools.ports.report({ type: 'mapped', record: way.item.number, node: step.id, paths, found });
  },
  idempotencyKey(part) {
    const { step, way, row, tools } = this;
    return tools.ports.uuidOf(`${way.item.number}/${step.id}/${way.place}${row}${part === undefined ? '' : `/${part}`}`);
  },
  emit(rows) {
    return (this.way.emit as NodeContext['emit'])(rows);
  },
  async inner(fields, pass, take) {
    const { step, way, row, tools, passSteps } = this;
    let last: Heard | undefined;
    const heard = ({ atMs, waitMs }: Heard) => {
      last = { atMs, waitMs: waitMs === undefined ? last?.waitMs : Math.max(last?.waitMs ?? 0, waitMs) };
    };
    const inside = { ...way, place: `${way.place}${row}.${pass}.`, isInner: true, take, heard };
    await take(await passSteps(step.node.inner?.steps ?? [], [fields], inside, tools));
    return last;
  },
  now() {
    return this.tools.ports.clock.now();
  },
  async waitUntil(untilMs) {
    const { way, tools } = this;
    await tools.batches.during(way.step, waitUntil(untilMs - awakeMs, tools), 'waiting');
    await tools.batches.during(way.step, waitUntil(untilMs, tools));
  },
};

function isLost(scope: Scope | undefined): boolean {
  return scope !== undefined && (scope.hasFailed || isLost(scope.outer));
}

function callerOf({ step, way: { item, progress, heard, scope } }: Own): Caller {
  return { record: item.number, node: step.id, progress, heard, isLost: scope && (() => isLost(scope)) };
}
