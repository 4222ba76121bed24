import type { Trace } from '../core/action.ts';
import type { Documents } from '../core/answer/document.ts';
import type { BatchEntry } from '../core/batch.ts';
import type { CachedCall, Call, LastAnswer, LocalCall } from '../core/call.ts';
import type { FailureReport, HitSource, NodeEvent } from '../core/event.ts';
import { Unfinished } from '../core/failure.ts';
import type { Item, PartialRows } from '../core/item.ts';
import type { Lookups } from '../core/lookups/lookup.ts';
import type { NodeContext, Step } from '../core/node.ts';
import type { Http, Ports } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { Spending } from '../core/spending.ts';
import type { Tools } from '../core/tools/tools.ts';
import type { Batches } from './batches/batches.ts';
import type { Caller, Calls, Progress } from './call.ts';
import type { Emitter, RowSink } from './emit.ts';
import type { RunPhase } from './phase.ts';
import { tracedHttp, tracedTools } from './trace.ts';

/** The parts of a run that a chain uses. */
export interface ChainTools {
  readonly ports: Ports;
  readonly phase: RunPhase;
  readonly calls: Calls;
  readonly batches: Batches;
  /** Absent if nothing watches the attempts. */
  readonly trace?: Trace | undefined;
  /** Opens a place for output records that come before their record is done. */
  partialRows(): PartialRows;
}

/** A chain as the contexts of its nodes see it. */
export interface PassingChain {
  readonly tools: ChainTools;
  /** Brings records through nodes. Rows that come before a node has ended go to `position.take`; returns the other rows. */
  passSteps(steps: readonly Step[], rows: readonly Fields[], position: Position): Promise<readonly Fields[]>;
}

/** The records that one record has become at a node. Once one of them has failed, the others are abandoned. */
export interface RowGroup {
  readonly hasFailed: boolean;
  readonly outer: RowGroup | undefined;
}

/** The place of a record in the chain. */
export interface Position {
  readonly item: Item;
  readonly progress: Progress;
  /** Name of the record's row and pass. It is the same in every run. */
  readonly place: string;
  /** Index of the node in the flow, from 0. */
  readonly step: number;
  /** True if the record is inside that node. */
  readonly isInner: boolean;
  /** Takes rows that come before the record has ended, in their order. */
  readonly take: RowSink;
  /** True if an enclosing node continues after a failure: then the rows from before the failure stay. */
  readonly keepsEarlier: boolean;
  /** The rows that the record has become; absent while it is a single row. */
  readonly group?: RowGroup | undefined;
  /** Takes what the node emits; absent at nodes that do not stream. */
  readonly emitter?: Emitter | undefined;
  /** Collects the failures that `on_error: keep` passes through, in a pass whose rows may not go on; absent if all rows go on. */
  readonly passedFailures?: FailureReport[] | undefined;
  /** Takes answers as they arrive; absent outside of nodes that wait between passes. */
  readonly heard?: ((answer: LastAnswer) => void) | undefined;
}

/** Records that wake within this time of each other may share a batch: records that wake earlier wait for records that wake later. */
const awakeMs = 20;

/** The services of the engine for one record at one node. Every record at every node gets an object, so methods are on the prototype. */
export class RecordContext implements NodeContext, Caller {
  /** Failures inside this node that `on_error: keep` has passed through, and that are not reported yet. */
  passedFailures: readonly FailureReport[] | undefined;

  /** `row`: index among the rows of the record, from 0. */
  constructor(
    readonly step: Step,
    readonly position: Position,
    readonly row: number,
    readonly chain: PassingChain,
  ) {}

  get record(): number {
    return this.position.item.number;
  }

  get node(): string {
    return this.step.id;
  }

  get progress(): Progress {
    return this.position.progress;
  }

  get heard(): Position['heard'] {
    return this.position.heard;
  }

  get http(): Http {
    const { ports, trace } = this.chain.tools;
    return trace ? tracedHttp(ports, this, trace) : ports.http;
  }

  get tools(): Tools {
    const { ports, trace } = this.chain.tools;
    return trace ? tracedTools(ports, this, trace) : ports.tools;
  }

  get lookups(): Lookups {
    return this.chain.tools.ports.lookups;
  }

  get documents(): Documents {
    return this.chain.tools.ports.documents;
  }

  get spending(): Spending {
    return this.chain.tools.ports.spending.of(this.step.id);
  }

  call<Result>(call: Call<Result> | LocalCall<Result> | BatchEntry<Result>): Promise<Result> {
    if ('batch' in call) return this.#join(call);
    const { batches, calls } = this.chain.tools;
    return batches.busyWhile(this.position.step, 'answer' in call ? calls.makeLocally(call, this) : this.#cachedOrMade(call, calls));
  }

  report(event: NodeEvent): void {
    // Completed in place: a copy for every record would be garbage.
    const full = event as { -readonly [Key in 'record' | 'node']?: unknown } & NodeEvent;
    full.record = this.record;
    full.node = this.node;
    this.chain.tools.ports.report(full as Parameters<Ports['report']>[0]);
  }

  idempotencyKey(part?: string): string {
    const { step, position, row, chain } = this;
    return chain.tools.ports.uuidOf(`${this.record}/${step.id}/${position.place}${row}${part === undefined ? '' : `/${part}`}`);
  }

  emit(rows: readonly Fields[]): Promise<void> {
    return (this.position.emitter as Emitter).emit(rows);
  }

  async inner(fields: Fields, pass: number, take: RowSink): Promise<LastAnswer | undefined> {
    const { step, position, row, chain } = this;
    const { steps = [], waits = false } = step.node.inner ?? {};
    if (!waits) await yieldIfLong(position, chain.tools);
    let last: LastAnswer | undefined;
    const heard = ({ atMs, waitMs }: LastAnswer) => {
      last = { atMs, waitMs: waitMs === undefined ? last?.waitMs : Math.max(last?.waitMs ?? 0, waitMs) };
    };
    const inside: Position = {
      item: position.item,
      progress: position.progress,
      place: `${position.place}${row}.${pass}.`,
      step: position.step,
      isInner: true,
      take,
      keepsEarlier: position.keepsEarlier || step.onError === 'keep',
      group: position.group,
      passedFailures: this.#failuresOfPass(),
      heard: waits ? heard : position.heard,
    };
    await take(await chain.passSteps(steps, [fields], inside));
    return last;
  }

  isAbandoned(): boolean {
    return isAbandoned(this.position.group);
  }

  now(): number {
    return this.chain.tools.ports.clock.now();
  }

  async waitUntil(untilMs: number): Promise<void> {
    const { position, chain } = this;
    const { batches, calls } = chain.tools;
    if (!batches.areAny) return calls.wait(untilMs);
    await batches.busyWhile(position.step, calls.wait(untilMs - awakeMs), 'waiting');
    await batches.busyWhile(position.step, calls.wait(untilMs));
  }

  /** The list for the failures of a pass. If the node streams, the rows of all passes go on; else only the rows of the last pass do. */
  #failuresOfPass(): FailureReport[] | undefined {
    if (this.step.node.streams) return this.position.passedFailures;
    const failures: FailureReport[] = [];
    this.passedFailures = failures;
    return failures;
  }

  #join<Result>(entry: BatchEntry<Result>): Promise<Result> {
    if (this.isAbandoned()) return Promise.reject(new Unfinished());
    const { position, chain } = this;
    return chain.tools.batches.join(entry, { caller: this, step: position.step, isInner: position.isInner });
  }

  #cachedOrMade<Result>(call: Call<Result>, calls: Calls): Promise<Result> {
    const { cache } = call;
    return cache ? this.#cached(call, cache) : calls.make(call, this);
  }

  async #cached<Result>(call: Call<Result>, cache: CachedCall<Result>): Promise<Result> {
    const { step, position, chain } = this;
    const { ports } = chain.tools;
    const hit = (source: HitSource) => {
      const credits = step.node.action?.price.credits ?? 0;
      ports.report({ type: 'cache-hit', record: this.record, node: this.node, source, credits });
    };
    const produce = () => chain.tools.calls.make(call, this).then(cache.store);
    const response = await ports.cache.through(cache.key, cache.maxAgeMs, produce, hit);
    await yieldIfLong(position, chain.tools);
    return cache.restore(response, this);
  }
}

/** Yields to the event loop; undefined if the turn was short. Rejects with Unfinished once the run no longer wants the record. */
export function yieldIfLong(position: Position, { ports, phase, batches }: ChainTools): Promise<void> | undefined {
  const { item, step, progress, group } = position;
  const turn = ports.clock.yieldIfLong();
  return turn && batches.busyWhile(step, turn.then(refuseUnwanted));

  function refuseUnwanted(): void {
    if (!phase.wants(item.number, progress.hasBegun) || isAbandoned(group)) throw new Unfinished();
  }
}

function isAbandoned(group: RowGroup | undefined): boolean {
  return group !== undefined && (group.hasFailed || isAbandoned(group.outer));
}
