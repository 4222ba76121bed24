import type { ActionRequest, ActionResponse, Attempt, Trace } from '../core/action.ts';
import type { Documents } from '../core/answer/document.ts';
import type { BatchEntry, CachedCall, Call, LastAnswer, LocalCall } from '../core/call.ts';
import type { FailureReport, HitSource, NodeEvent } from '../core/event.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Item, PartialRows } from '../core/item.ts';
import type { Lookups } from '../core/lookup.ts';
import type { Asked, NodeContext, Step } from '../core/node.ts';
import { allSteps } from '../core/plan.ts';
import type { Clock, Http, Ports } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { rounded, type Spending } from '../core/spending.ts';
import type { Tools } from '../core/tools.ts';
import type { Batches, BatchPlace } from './batches.ts';
import type { CallOwner, Calls, Progress, StepUse } from './call.ts';
import type { Emitter, RowSink } from './emit.ts';
import type { StepWatch } from './failure-limits.ts';
import type { KeptCalls } from './kept-calls.ts';
import type { RunPhase, StopReason } from './phase.ts';

export interface ChainTools {
  readonly ports: Ports;
  readonly phase: RunPhase;
  readonly calls: Calls;
  readonly batches: Batches;
  /** Ends the run because a step of a `first` node can only fail; undefined if the run continues. */
  readonly giveUp?: ((reason: StopReason) => void) | undefined;
  /** Undefined if the attempts are not needed. */
  readonly trace?: Trace;
  partialRows(): PartialRows;
}

export interface PassingChain {
  readonly tools: ChainTools;
  /** The ids of the nodes that have reported what they report only once. */
  readonly reportedOnce: Set<string>;
  /** Runs rows through the given steps. Passes rows that a node emits before it ends to `position.take`, and returns the other rows. */
  passSteps(steps: readonly Step[], rows: readonly Fields[], position: ChainPosition): Promise<readonly Fields[]>;
  /** Runs a row through a step, and returns its rows or its failure. Undefined if the step's condition is false. */
  askStep(step: Step, fields: Fields, position: ChainPosition): Promise<readonly Fields[] | Failure | undefined>;
  watchOf(step: Step): StepWatch | undefined;
}

/** The rows of a record: if one fails, the others are abandoned. */
export interface RowGroup {
  readonly hasFailed: boolean;
  readonly outer: RowGroup | undefined;
}

export interface ChainPosition {
  readonly item: Item;
  readonly progress: Progress;
  /** Identifies the record's row, and the pass of each loop around it. A repeated run has the same places. */
  readonly place: string;
  /** The 0-based index of the node in the flow. For a node inside a loop or poll, this is the index of the outermost one. */
  readonly step: number;
  readonly isInner: boolean;
  /** Receives, in order, the rows that are emitted before the record has finished. */
  readonly take: RowSink;
  /** True if an enclosing node continues after a failure, so that the rows before the failed row are kept. */
  readonly keepsEarlier: boolean;
  /** The rows that the record has become; undefined while it is still a single row. */
  readonly group?: RowGroup;
  /** Receives the rows that the node emits; undefined at nodes that do not stream (emit rows before they have finished). */
  readonly emitter?: Emitter;
  /** The failures that `on_error: keep` passes through in a pass of a loop, whose rows might be discarded. Undefined if none can be. */
  readonly passedFailures?: FailureReport[];
  /** The place of the outermost node around this one that waits between passes, such as a poll; undefined outside. */
  readonly poll?: string;
  /** Undefined except inside a step of a `first` node. */
  readonly use?: StepUse;
  /** Undefined except inside nodes that wait between passes, such as polls. */
  readonly heard?: (answer: LastAnswer) => void;
}

const nowhere: RowSink = () => undefined;

/** Of a step without inner nodes, whose failures the `first` node handles itself. */
const noFailures: FailureReport[] = [];

/** Records whose waits end within this time in ms share a batch. Each resumes this much early, so that all join before it is sent. */
const awakeMs = 20;

/** One such object exists for each record at each node, so its methods are on the prototype, which saves memory. */
export class RecordContext implements NodeContext, CallOwner {
  /** Failures inside this node that `on_error: keep` has passed through, and that are not reported yet. */
  passedFailures: readonly FailureReport[] | undefined;

  /** `row` is the 0-based index of the row among all rows that the record has become. */
  constructor(
    readonly step: Step,
    readonly position: ChainPosition,
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

  get continues(): boolean {
    return this.step.onError === 'keep' || this.position.keepsEarlier;
  }

  /** The same in every run of the flow over the same record. The passes of a poll share it, because their number depends on the server. */
  get place(): string {
    return this.position.poll ?? this.position.place + this.row;
  }

  get isInPoll(): boolean {
    return this.position.poll !== undefined;
  }

  get heard(): ChainPosition['heard'] {
    return this.position.heard;
  }

  get use(): StepUse | undefined {
    return this.position.use;
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
    if ('answer' in call) return batches.busyWhile(this.position.step, calls.makeLocally(call, this));
    const { cache } = call;
    return batches.busyWhile(this.position.step, cache ? this.#cached(call, cache) : calls.make(call, this));
  }

  spent(cost: number | undefined): void {
    const { use } = this.position;
    if (use) use.credits += cost ?? this.step.node.action?.price.credits ?? 0;
  }

  report(event: NodeEvent): void {
    const { use } = this.position;
    if (use && event.type === 'tokens' && event.cost !== undefined) use.cost = rounded((use.cost ?? 0) + event.cost);
    // Completes the event object itself, because a copy for every record would make garbage collection expensive.
    const full = event as { -readonly [Key in 'record' | 'node']?: unknown } & NodeEvent;
    full.record = this.record;
    full.node = this.node;
    this.chain.tools.ports.report(full as Parameters<Ports['report']>[0]);
  }

  reportOnce(find: () => NodeEvent | undefined, what = ''): void {
    const { reportedOnce } = this.chain;
    const key = this.node + what;
    if (reportedOnce.has(key)) return;
    const event = find();
    if (!event) return;
    reportedOnce.add(key);
    this.report(event);
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
    const inside: ChainPosition = {
      item: position.item,
      progress: position.progress,
      place: `${position.place}${row}.${pass}.`,
      step: position.step,
      isInner: true,
      take,
      keepsEarlier: this.continues,
      group: position.group,
      passedFailures: this.#failuresOfPass(),
      poll: position.poll ?? (waits ? position.place + row : undefined),
      use: position.use,
      heard: waits ? heard : position.heard,
    };
    await take(await chain.passSteps(steps, [fields], inside));
    return last;
  }

  // Not async functions: every record waits here, and an async function would use more memory.
  ask(step: Step, fields: Fields, accepts: (rows: readonly Fields[]) => boolean): Promise<Asked | undefined> {
    const { position, row, chain } = this;
    const turn = yieldIfLong(position, chain.tools);
    if (turn) return turn.then(() => this.ask(step, fields, accepts));
    const watch = step.onError === 'keep' ? undefined : chain.watchOf(step);
    const use: StepUse = { watch, credits: 0, cost: undefined };
    const inside: ChainPosition = {
      item: position.item,
      progress: position.progress,
      place: `${position.place}${row}.0.`,
      step: position.step,
      isInner: true,
      take: nowhere,
      keepsEarlier: false,
      group: position.group,
      passedFailures: step.node.inner ? [] : noFailures,
      poll: position.poll,
      use,
      heard: position.heard,
    };
    return chain.askStep(step, fields, inside).then((answer) => answer && this.#answered(step, answer, inside, accepts));
  }

  #answered(
    step: Step,
    answer: readonly Fields[] | Failure,
    { use, passedFailures }: ChainPosition,
    accepts: (rows: readonly Fields[]) => boolean,
  ): Asked {
    const { watch, credits, cost } = use as StepUse;
    // A `first` inside a step spends for this step, too.
    const outer = this.position.use;
    if (outer) outer.credits += credits;
    if (outer && cost !== undefined) outer.cost = rounded((outer.cost ?? 0) + cost);
    const failure = answer instanceof Failure ? answer : undefined;
    const rows = answer instanceof Failure ? [] : answer;
    watch?.finished(failure);
    if (failure && this.#isGivenUp(step, failure)) throw new Unfinished();
    const isAccepted = !failure && accepts(rows);
    // The failures that nodes inside the step have passed through count only if its row is used.
    this.passedFailures = isAccepted ? passedFailures : undefined;
    return { rows, isAccepted, failure, credits, cost };
  }

  /** True if the run is ending because of this step, which another worker might have found out. The record then goes to a later run. */
  #isGivenUp(step: Step, failure: Failure): boolean {
    const { phase } = this.chain.tools;
    const watch = this.chain.watchOf(step);
    if (phase.current === 'open' || !watch?.isLasting(failure)) return false;
    const node = phase.reason?.step?.node;
    return watch.hasEnded || allSteps([step]).some(({ id }) => id === node);
  }

  isAbandoned(): boolean {
    return isAbandoned(this.position.group);
  }

  get clock(): Clock {
    return this.chain.tools.ports.clock;
  }

  async waitUntil(untilMs: number): Promise<void> {
    const { position, chain } = this;
    const { batches, calls } = chain.tools;
    if (!batches.areAny) return calls.wait(untilMs);
    await batches.busyWhile(position.step, calls.wait(untilMs - awakeMs), 'waiting');
    await batches.busyWhile(position.step, calls.wait(untilMs));
  }

  /** Collects the failures of one pass. A node that streams uses the enclosing node's list, because the rows of every pass continue. */
  #failuresOfPass(): FailureReport[] | undefined {
    if (this.step.node.streams) return this.position.passedFailures;
    const failures: FailureReport[] = [];
    this.passedFailures = failures;
    return failures;
  }

  #join<Result>(entry: BatchEntry<Result>): Promise<Result> {
    if (this.isAbandoned()) return Promise.reject(new Unfinished());
    const { position, chain } = this;
    const { batches, calls } = chain.tools;
    const place = { caller: this, step: position.step, isInner: position.isInner };
    return calls.kept ? this.#joinUnlessKept(entry, place, calls.kept) : batches.join(entry, place);
  }

  async #joinUnlessKept<Result>(entry: BatchEntry<Result>, place: BatchPlace, kept: KeptCalls): Promise<Result> {
    const { batches } = this.chain.tools;
    const { question, result } = kept.askInBatch(entry, this);
    // Waiting also for no result would yield to the event loop, and the batch would be sent without this record.
    const found = result && (await batches.busyWhile(place.step, result));
    return found ? found.result : batches.join(entry, { ...place, question });
  }

  async #cached<Result>(call: Call<Result>, cache: CachedCall<Result>): Promise<Result> {
    const { step, position, chain } = this;
    const { ports, calls } = chain.tools;
    // A kept answer is looked for before the cache, which would otherwise take it for a new one.
    const asked = calls.kept && (await calls.kept.ask(call, this));
    if (asked?.found) return asked.found.result;
    let from: HitSource | undefined;
    const hit = (source: HitSource) => {
      from = source;
      const credits = step.node.action?.price.credits ?? 0;
      ports.report({ type: 'cache-hit', record: this.record, node: this.node, source, credits });
    };
    const produce = () => calls.make(call, this, asked).then(cache.store);
    const response = await ports.cache.through(cache.key, cache.maxAgeMs, produce, hit);
    await yieldIfLong(position, chain.tools);
    const result = await cache.restore(response, this, from !== undefined);
    if (asked?.question && from === 'cached') calls.kept?.keep(asked.question, { call, result, caller: this, response });
    return result;
  }
}

/** Undefined if the current turn is short so far. After the yield, rejects with Unfinished if the run no longer wants the record. */
export function yieldIfLong(position: ChainPosition, { ports, phase, batches }: ChainTools): Promise<void> | undefined {
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

type Sender = Pick<Attempt, 'record' | 'node'>;

interface Watch {
  readonly sender: Sender;
  readonly trace: Trace;
  readonly clock: Clock;
}

function tracedHttp(ports: Ports, sender: Sender, trace: Trace): Http {
  const { http, clock } = ports;
  const watch = { sender, trace, clock };
  return {
    send: (request) => startAttempt(watch, request)(http.send(request)),
    abort: () => http.abort(),
  };
}

function tracedTools(ports: Ports, sender: Sender, trace: Trace): Tools {
  const { tools, clock } = ports;
  const watch = { sender, trace, clock };
  return { ...tools, call: (call, progressed) => startAttempt(watch, call)(tools.call(call, progressed)) };
}

/** Starts to time an attempt. Returns a function that waits for the response and reports the attempt. */
function startAttempt({ sender: { record, node }, trace, clock }: Watch, request: ActionRequest) {
  const startedMs = clock.now();
  const end = (result: Attempt['result'], httpVersion?: Attempt['httpVersion']) =>
    trace({ record, node, request, ms: clock.now() - startedMs, result, httpVersion });
  return async <Answer extends ActionResponse>(coming: Promise<Answer>): Promise<Answer> => {
    try {
      const answer = await coming;
      end(attemptResult(answer), 'status' in answer ? answer.httpVersion : undefined);
      return answer;
    } catch (error) {
      if (error instanceof Failure) end(error);
      throw error;
    }
  };
}

function attemptResult(answer: ActionResponse): Attempt['result'] {
  if ('status' in answer) return answer.status;
  return 'isError' in answer && answer.isError ? 'error' : 'ok';
}
