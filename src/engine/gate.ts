import { Unfinished } from '../core/failure.ts';
import type { Clock } from '../core/ports.ts';
import type { CallStage, RunPhase } from './phase.ts';

/** A call that waits at a gate. */
export interface WaitingCall {
  readonly record: number;
  /** Can change while the call waits: other calls of the same record may start. */
  readonly stage: CallStage;
}

interface Waiter {
  readonly call: WaitingCall;
  start(): void;
  turnAway(reason: Unfinished): void;
}

/** Limits how many calls of one node, or of one connection, a run has in flight. */
export class Slots {
  readonly max: number;
  /** The gates at which calls wait for a slot. */
  readonly gates = new Set<Gate>();
  inFlight = 0;
  waiting = 0;

  constructor(max: number) {
    this.max = max;
  }

  get areTaken(): boolean {
    return this.inFlight >= this.max;
  }
}

/** The calls that wait for the same slots, in the order of their records: a retry does not start over at the end. */
interface Queue {
  readonly slots: Slots;
  waiters: Waiter[];
}

/** The calls of one run at one gate. */
interface Lane {
  readonly phase: RunPhase;
  readonly queues: Queue[];
  /** Number of the lane's last start, counted at the gate. */
  lastStart: number;
}

/** A timer may be this late without lowering the rate. */
const slackMs = 10;

/**
 * Limits how fast calls reach one origin with one credential: a rate (calls per time) and a pause (until a 429 or Retry-After is
 * over). It holds for all runs together; they take turns. A waiting call holds no slot.
 */
export class Gate {
  readonly #clock: Clock;
  readonly #lanes: Lane[] = [];
  #intervalMs = 0;
  #pausedUntilMs = 0;
  /** Earliest start of the next call, in monotonic ms. */
  #nextStartMs = 0;
  /** End of the timer that runs; 0 without one. */
  #timerMs = 0;
  #starts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the time between two calls. A shorter one does not replace a longer one. */
  limitRate(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }

  /** Starts no call for `waitMs`. A shorter pause does not end a longer one. */
  pause(waitMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#clock.now() + waitMs);
  }

  /** Resolves when the call has a slot and may start. Rejects with Unfinished once its run no longer admits it. */
  enter(call: WaitingCall, slots: Slots, phase: RunPhase): Promise<void> {
    return new Promise((start, turnAway) => {
      enqueue(this.#queueOf(slots, phase).waiters, { call, start, turnAway });
      slots.waiting++;
      this.startReady();
    });
  }

  /** Starts the calls that may start now. */
  startReady(): void {
    for (let lane = nextLane(this.#lanes); lane; lane = nextLane(this.#lanes)) {
      const now = this.#clock.now();
      const readyMs = Math.max(this.#pausedUntilMs, this.#nextStartMs);
      if (readyMs > now) {
        this.#startAt(readyMs);
        return;
      }
      const { slots, waiters } = nextQueue(lane) as Queue;
      slots.inFlight++;
      slots.waiting--;
      lane.lastStart = ++this.#starts;
      if (this.#intervalMs > 0) this.#nextStartMs = Math.max(this.#nextStartMs, now - slackMs) + this.#intervalMs;
      waiters.shift()?.start();
    }
  }

  /** Turns away the calls that their run no longer admits. */
  turnAway(phase: RunPhase): void {
    for (const queue of this.#laneOf(phase)?.queues ?? []) {
      const { waiters } = queue;
      queue.waiters = waiters.filter(({ call }) => phase.admits(call.record, call.stage));
      queue.slots.waiting -= waiters.length - queue.waiters.length;
      const admitted = new Set(queue.waiters);
      for (const waiter of waiters) if (!admitted.has(waiter)) waiter.turnAway(new Unfinished());
    }
  }

  /** Forgets a run that has ended. */
  forget(phase: RunPhase): void {
    const lane = this.#laneOf(phase);
    if (lane) this.#lanes.splice(this.#lanes.indexOf(lane), 1);
  }

  /** Forgets everything if nothing is lost with it. Returns true if so. */
  forgetIfIdle(): boolean {
    const now = this.#clock.now();
    if (this.#pausedUntilMs > now || this.#nextStartMs > now) return false;
    const queues = this.#lanes.flatMap((lane) => lane.queues);
    if (queues.some(({ waiters }) => waiters.length > 0)) return false;
    for (const { slots } of queues) slots.gates.delete(this);
    return true;
  }

  #laneOf(phase: RunPhase): Lane | undefined {
    return this.#lanes.find((lane) => lane.phase === phase);
  }

  #queueOf(slots: Slots, phase: RunPhase): Queue {
    const lane = this.#laneOf(phase) ?? { phase, queues: [], lastStart: 0 };
    const found = lane.queues.find((queue) => queue.slots === slots);
    if (found) return found;
    if (lane.queues.length === 0) this.#lanes.push(lane);
    const queue: Queue = { slots, waiters: [] };
    lane.queues.push(queue);
    slots.gates.add(this);
    return queue;
  }

  #startAt(atMs: number): void {
    if (this.#timerMs === atMs) return;
    this.#timerMs = atMs;
    void this.#clock.sleepUntil(atMs).then(() => {
      if (this.#timerMs === atMs) this.#timerMs = 0;
      this.startReady();
    });
  }
}

/** Puts a waiter in the place of its record. Most records come in order, so the place is sought from the end. */
export function enqueue(waiters: Waiter[], waiter: Waiter): void {
  const { record } = waiter.call;
  let place = waiters.push(waiter) - 1;
  for (; place > 0 && (waiters[place - 1] as Waiter).call.record > record; place--) waiters[place] = waiters[place - 1] as Waiter;
  waiters[place] = waiter;
}

/** The lane whose turn it is: of those with a call that has a slot, the one that has waited the longest for a start. */
function nextLane(lanes: readonly Lane[]): Lane | undefined {
  let next: Lane | undefined;
  for (const lane of lanes) {
    if (next && next.lastStart <= lane.lastStart) continue;
    if (nextQueue(lane)) next = lane;
  }
  return next;
}

/** The queue with a free slot whose first record is the lowest. */
function nextQueue({ queues }: Lane): Queue | undefined {
  let next: Queue | undefined;
  for (const queue of queues) {
    const [first] = queue.waiters;
    if (!first || queue.slots.areTaken) continue;
    if (!next || first.call.record < (next.waiters[0] as Waiter).call.record) next = queue;
  }
  return next;
}
