import { Unfinished } from '../core/failure.ts';
import type { CallStage, RunPhase } from './phase.ts';

/** A call that waits until its gate and its slots let it start. */
export interface WaitingCall {
  readonly record: number;
  /** The stage can change while the call waits, because other calls for the same record can start. */
  readonly stage: CallStage;
}

/** A gate (the rate limiter of an API), or a set of slots (permits for calls in flight). A call needs both to be open. */
export interface Door {
  readonly turns: Turns;
  isOpen(): boolean;
  /** Called when a call starts, to count it. */
  pass(): void;
}

/** The times at which an attempt was sent and ended, in monotonic ms. */
export interface AttemptTimes {
  readonly sentAtMs: number;
  readonly atMs: number;
}

/** A slot: the permit for one call to be in flight. */
export interface Slot {
  free(): void;
  /** The limit can adapt to the response times. */
  answered(times: AttemptTimes): void;
  /** Notes that the server refused an attempt, or did not respond in time. */
  refused(times: AttemptTimes): void;
}

interface SlotDoor extends Door, Slot {
  readonly left: number;
}

/** A waiting call, with functions that end the wait: `start` if the call may start, `turnAway` if the run no longer admits it. */
interface Waiter {
  readonly call: WaitingCall;
  start(slot: Slot): void;
  turnAway(reason: Unfinished): void;
}

/** Calls of one run at one gate for the same slots, ordered by record number. A retry keeps the position of its record. */
export class CallQueue {
  readonly #run: RunPhase;
  readonly #slots: SlotDoor;
  readonly #gate: Door;
  readonly #left: () => void;
  #waiters: Waiter[] = [];

  /** `left` is called whenever a call has left the queue. */
  constructor(run: RunPhase, { slots, gate }: { readonly slots: SlotDoor; readonly gate: Door }, left: () => void) {
    this.#run = run;
    this.#slots = slots;
    this.#gate = gate;
    this.#left = left;
  }

  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  /** Number of waiting calls that have a free slot, and are kept waiting only by the gate. */
  get startable(): number {
    return Math.min(this.#waiters.length, this.#slots.left);
  }

  /** Must not be called if the queue is empty. */
  get firstRecord(): number {
    return (this.#waiters[0] as Waiter).call.record;
  }

  /** Rejects with Unfinished if the run no longer admits the call. */
  wait(call: WaitingCall): Promise<Slot> {
    if (this.isEmpty) {
      this.#slots.turns.add(this.#run, this);
      this.#gate.turns.add(this.#run, this);
    }
    return new Promise((start, turnAway) => insert(this.#waiters, { call, start, turnAway }));
  }

  /** True if the first waiting call may start. Checks the slots first, so that the gate sets a timer only if a slot is free. */
  isReady(): boolean {
    return this.#slots.isOpen() && this.#gate.isOpen();
  }

  startFirst(): void {
    const waiter = this.#waiters.shift() as Waiter;
    this.#slots.pass();
    this.#gate.pass();
    this.#endTurn();
    waiter.start(this.#slots);
    this.#left();
  }

  /** Rejects the waiting calls that the run no longer admits. */
  turnAway(): void {
    const waiters = this.#waiters;
    this.#waiters = waiters.filter(({ call }) => this.#run.admits(call.record, call.stage));
    if (this.isEmpty) this.#endTurn();
    const admitted = new Set(this.#waiters);
    for (const waiter of waiters) {
      if (admitted.has(waiter)) continue;
      waiter.turnAway(new Unfinished());
      this.#left();
    }
  }

  #endTurn(): void {
    this.#slots.turns.end(this.#run, this);
    this.#gate.turns.end(this.#run, this);
  }
}

/**
 * A run goes to the end of the order when it begins to wait, and whenever it has started a call. Its next call therefore waits for at most
 * one call of each other run, no matter how many calls wait there.
 */
export class Turns {
  readonly #queues = new Map<RunPhase, Set<CallQueue>>();

  get areNone(): boolean {
    return this.#queues.size === 0;
  }

  /** Counts calls that only the gate keeps waiting. Calls are counted more than once if their queues share slots. */
  get startable(): number {
    let sum = 0;
    for (const queues of this.#queues.values()) for (const queue of queues) sum += queue.startable;
    return sum;
  }

  /** Returns the queue of the first run in turn whose first call may start; of several queues, the queue with the lowest record number. */
  next(): CallQueue | undefined {
    for (const queues of this.#queues.values()) {
      let next: CallQueue | undefined;
      for (const queue of queues) if ((!next || queue.firstRecord < next.firstRecord) && queue.isReady()) next = queue;
      if (next) return next;
    }
    return undefined;
  }

  add(run: RunPhase, queue: CallQueue): void {
    const queues = this.#queues.get(run);
    if (queues) queues.add(queue);
    else this.#queues.set(run, new Set([queue]));
  }

  /** The run moves to the end of the order. Removes the queue if it is empty. */
  end(run: RunPhase, queue: CallQueue): void {
    if (!queue.isEmpty && this.#queues.size === 1) return;
    const queues = this.#queues.get(run);
    if (queue.isEmpty) queues?.delete(queue);
    this.#queues.delete(run);
    if (queues && queues.size > 0) this.#queues.set(run, queues);
  }
}

/** Inserts a waiting call according to its record number. Most records come in order, so the search starts at the end. */
function insert(waiters: Waiter[], waiter: Waiter): void {
  const { record } = waiter.call;
  let place = waiters.push(waiter) - 1;
  for (; place > 0 && (waiters[place - 1] as Waiter).call.record > record; place--) waiters[place] = waiters[place - 1] as Waiter;
  waiters[place] = waiter;
}
