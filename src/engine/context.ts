import type { LastAnswer } from '../core/call.ts';
import type { FailureReport, HitSource } from '../core/event.ts';
import { Unfinished } from '../core/failure.ts';
import type { Item, PartialRows } from '../core/item.ts';
import type { NodeContext, Step } from '../core/node.ts';
import type { HttpResponse, Ports } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { Batches } from './batches.ts';
import { type Caller, type Progress, type RunCall, waitUnpaid } from './call.ts';
import type { Stopping } from './stopping.ts';

/** What a chain needs around it. */
export interface ChainTools {
  readonly ports: Ports;
  readonly stopping: Stopping;
  readonly call: RunCall;
  readonly batches: Batches;
  /** Rows for a record that is not finished yet. */
  partialRows(): PartialRows;
}

/** Takes output records as they come, in their order. */
export type Take = (rows: readonly Fields[]) => Promise<void> | void;

/** The records that one record has become at a node: when one of them has failed, nothing more is begun for the others. */
export interface Scope {
  readonly hasFailed: boolean;
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
  /** Whether a node around this one goes on after a failure: what was handed on before it stays. */
  readonly isKept: boolean;
  /** Absent while the record is one. */
  readonly scope?: Scope | undefined;
  /** Takes what a node that streams hands on; absent at other nodes. */
  readonly emit?: NodeContext['emit'];
  /** Gathers what was kept of a pass whose records may not go on; absent where all do. */
  readonly kept?: FailureReport[] | undefined;
  /** Takes what is heard of servers; absent outside of nodes that ask again. */
  readonly heard?: ((answer: LastAnswer) => void) | undefined;
}

/** Brings records through nodes. What comes out before a node is done goes to `way.take`, the rest is answered. */
export type PassSteps = (steps: readonly Step[], rows: readonly Fields[], way: Way, tools: ChainTools) => Promise<readonly Fields[]>;

/** What a context knows besides its methods. */
interface Own {
  readonly step: Step;
  readonly way: Way;
  /** Which of the record's rows it is, from 0. */
  readonly row: number;
  readonly chain: ChainTools;
  readonly passSteps: PassSteps;
  /** What was kept of the last pass of a node that hands on no other. */
  kept?: FailureReport[];
}

/** What a node may use while it works on a record. There is one for every record at every node, so they share their methods. */
export function contextOf({ step, way, row, chain, passSteps }: Own): NodeContext {
  const { http, tools } = chain.ports;
  return { __proto__: methods, http, tools, step, way, row, chain, passSteps } as unknown as NodeContext;
}

/** Records that wake at about the same time may share a batch: so long before they count as those that are awake. */
const awakeMs = 20;

/** What was kept of the records that have come out of a node, but for those that it has handed on. */
export function keptIn(context: NodeContext): readonly FailureReport[] {
  return (context as unknown as Own).kept ?? [];
}

const methods: Omit<NodeContext, 'http' | 'tools'> & ThisType<Own> = {
  call(spec) {
    const { way, chain } = this;
    return chain.batches.during(way.step, chain.call(spec, callerOf(this)));
  },
  cached(key, maxAgeMs, produce) {
    const { step, way, chain } = this;
    const answered = async (response: HttpResponse) => {
      await yielded(way, chain);
      return response;
    };
    const hit = (source: HitSource) => {
      const credits = step.node.action?.price.credits ?? 0;
      chain.ports.report({ type: 'cache-hit', record: way.item.number, node: step.id, source, credits });
    };
    return chain.batches.during(way.step, chain.ports.cache.through(key, maxAgeMs, produce, hit).then(answered));
  },
  gather(entry, batch) {
    const { way, chain } = this;
    if (isLost(way.scope)) return Promise.reject(new Unfinished());
    return chain.batches.join(batch, entry, { caller: callerOf(this), step: way.step, isInner: way.isInner });
  },
  mapped(paths, found) {
    const { step, way, chain } = this;
    chain.ports.report({ type: 'mapped', record: way.item.number, node: step.id, paths, found });
  },
  fellShort(page) {
    const { step, way, chain } = this;
    chain.ports.report({ type: 'page-short', record: way.item.number, node: step.id, ...page });
  },
  progressed(tool, progress) {
    const { step, way, chain } = this;
    chain.ports.report({ type: 'tool-progress', record: way.item.number, node: step.id, tool, ...progress });
  },
  idempotencyKey(part) {
    const { step, way, row, chain } = this;
    return chain.ports.uuidOf(`${way.item.number}/${step.id}/${way.place}${row}${part === undefined ? '' : `/${part}`}`);
  },
  emit(rows) {
    return (this.way.emit as NodeContext['emit'])(rows);
  },
  async inner(fields, pass, take) {
    const { step, way, row, chain, passSteps } = this;
    const { steps = [], waits = false } = step.node.inner ?? {};
    if (!waits) await yielded(way, chain);
    let last: LastAnswer | undefined;
    const heard = ({ atMs, waitMs }: LastAnswer) => {
      last = { atMs, waitMs: waitMs === undefined ? last?.waitMs : Math.max(last?.waitMs ?? 0, waitMs) };
    };
    const isKept = way.isKept || step.onError === 'keep';
    // Of a node that streams, all passes go on; of another one only the last.
    if (!step.node.streams) this.kept = [];
    const kept = step.node.streams ? way.kept : this.kept;
    const inside: Way = {
      item: way.item,
      progress: way.progress,
      place: `${way.place}${row}.${pass}.`,
      step: way.step,
      isInner: true,
      take,
      isKept,
      scope: way.scope,
      kept,
      heard: waits ? heard : way.heard,
    };
    await take(await passSteps(steps, [fields], inside, chain));
    return last;
  },
  isLost() {
    return isLost(this.way.scope);
  },
  now() {
    return this.chain.ports.clock.now();
  },
  async waitUntil(untilMs) {
    const { way, chain } = this;
    if (!chain.batches.areAny) return waitUnpaid(untilMs, chain);
    await chain.batches.during(way.step, waitUnpaid(untilMs - awakeMs, chain), 'waiting');
    await chain.batches.during(way.step, waitUnpaid(untilMs, chain));
  },
};

/** Lets others have their turn. Absent where there is no need. Throws Unfinished when nothing more is wanted of the record. */
export function yielded({ item, step, progress, scope }: Way, { ports, stopping, batches }: ChainTools): Promise<void> | undefined {
  const turn = ports.clock.yieldTurn();
  return turn && batches.during(step, turn.then(refuseUnwanted));

  function refuseUnwanted(): void {
    const isWanted = progress.hasBegun || stopping.isWanted(item.number);
    if (!isWanted || stopping.signal.aborted || isLost(scope)) throw new Unfinished();
  }
}

function isLost(scope: Scope | undefined): boolean {
  return scope !== undefined && (scope.hasFailed || isLost(scope.outer));
}

function callerOf({ step, way: { item, progress, heard, scope } }: Own): Caller {
  return { record: item.number, node: step.id, progress, heard, isLost: scope && (() => isLost(scope)) };
}
