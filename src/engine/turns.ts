import { Unfinished } from '../core/failure.ts';
import type { CallStage, RunPhase } from './phase.ts';

/** A call that waits at a gate. */
export interface WaitingCall {
  readonly record: number;
  /** Can change while the call waits: other calls of the same record may start. */
  readonly stage: CallStage;
}

/** A gate, or slots: a call starts as soon as both are open. */
export interface Door {
  readonly turns: Turns;
  /** True if one more call may start. */
  isOpen(): boolean;
  /** Counts a call that starts. */
  pass(): void;
}

/** The times of an attempt, in monotonic ms. */
export interface AttemptTimes {
  readonly sentAtMs: number;
  readonly atMs: number;
}

/** A place among the calls in flight. */
export interface Slot {
  /** Gives the slot to the next call. */
  free(): void;
  /** Notes an answer, where the number of calls in flight is found by how fast answers come. */
  answered(times: AttemptTimes): void;
  /** Notes that the server refused an attempt, or did not answer it in time. */
  refused(times: AttemptTimes): void;
}

/** The slots that the calls of a queue need. */
export interface SlotDoor extends Door, Slot {
  /** The number of free slots. */
  readonly left: number;
}

/** A waiting call, and the two ways in which its wait ends. */
interface Waiter {
  readonly call: WaitingCall;
  start(slot: Slot): void;
  turnAway(reason: Unfinished): void;
}

/** The calls of one run that wait at one gate for the same slots, in the order of their records: a retry does not start over at the end. */
export class Queue {
  readonly #run: RunPhase;
  readonly #slots: SlotDoor;
  readonly #gate: Door;
  readonly #left: () => void;
  #waiters: Waiter[] = [];

  /** `left`: called after a call has left the queue. */
  constructor(run: RunPhase, { slots, gate }: { readonly slots: SlotDoor; readonly gate: Door }, left: () => void) {
    this.#run = run;
    this.#slots = slots;
    this.#gate = gate;
    this.#left = left;
  }

  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  /** The number of calls that have slots and wait for the gate alone. */
  get startable(): number {
    return Math.min(this.#waiters.length, this.#slots.left);
  }

  /** The lowest record with a waiting call. The queue is not empty. */
  get firstRecord(): number {
    return (this.#waiters[0] as Waiter).call.record;
  }

  /** Resolves with a slot when the call starts. Rejects with Unfinished if it is turned away. */
  wait(call: WaitingCall): Promise<Slot> {
    if (this.isEmpty) {
      this.#slots.turns.add(this.#run, this);
      this.#gate.turns.add(this.#run, this);
    }
    return new Promise((start, turnAway) => insert(this.#waiters, { call, start, turnAway }));
  }

  /** True if its first call may start. The slots come first: a gate sets a timer only for a call that gets a slot. */
  isReady(): boolean {
    return this.#slots.isOpen() && this.#gate.isOpen();
  }

  /** Starts its first call. */
  startFirst(): void {
    const waiter = this.#waiters.shift() as Waiter;
    this.#slots.pass();
    this.#gate.pass();
    this.#endTurn();
    waiter.start(this.#slots);
    this.#left();
  }

  /** Turns away the calls that the run no longer admits. */
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
 * The runs with calls that wait at a door, in the order of their turns. A run that starts to wait, or has started a call, goes to the
 * end: so a call waits for at most one call of each other run, however many calls that run has.
 */
export class Turns {
  readonly #queues = new Map<RunPhase, Set<Queue>>();

  get areNone(): boolean {
    return this.#queues.size === 0;
  }

  /** The number of calls that have slots and wait for the gate alone. Queues that share their slots count them more than once. */
  get startable(): number {
    let sum = 0;
    for (const queues of this.#queues.values()) for (const queue of queues) sum += queue.startable;
    return sum;
  }

  /** The queue whose first call may start: of the first run that has such a queue, the one with the lowest record. */
  next(): Queue | undefined {
    for (const queues of this.#queues.values()) {
      let next: Queue | undefined;
      for (const queue of queues) if ((!next || queue.firstRecord < next.firstRecord) && queue.isReady()) next = queue;
      if (next) return next;
    }
    return undefined;
  }

  /** Adds a queue in which calls begin to wait. */
  add(run: RunPhase, queue: Queue): void {
    const queues = this.#queues.get(run);
    if (queues) queues.add(queue);
    else this.#queues.set(run, new Set([queue]));
  }

  /** Ends the turn of a run that has started a call from a queue. */
  end(run: RunPhase, queue: Queue): void {
    if (!queue.isEmpty && this.#queues.size === 1) return;
    const queues = this.#queues.get(run);
    if (queue.isEmpty) queues?.delete(queue);
    this.#queues.delete(run);
    if (queues && queues.size > 0) this.#queues.set(run, queues);
  }
}

/** Puts a waiter in the place of its record. Most records come in order, so the place is sought from the end. */
function insert(waiters: Waiter[], waiter: Waiter): void {
  const { record } = waiter.call;
  let place = waiters.push(waiter) - 1;
  for (; place > 0 && (waiters[place - 1] as Waiter).call.record > record; place--) waiters[place] = waiters[place - 1] as Waiter;
  waiters[place] = waiter;
}
