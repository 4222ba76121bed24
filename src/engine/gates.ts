import type { Call } from '../core/call.ts';
import type { ConcurrencyEvent } from '../core/event.ts';
import { Unfinished } from '../core/failure.ts';
import type { Clock, Permits } from '../core/ports.ts';
import { Gate } from './gate.ts';
import type { AttemptTimes, Pace, Refusal } from './pace.ts';
import { type CallStage, RunPhase, Wakeup } from './phase.ts';
import { Slots, type SlotUser } from './slots.ts';

/** Once there are this many gates, idle gates are removed, because the URLs in records can have any number of hosts. */
const maxIdleGates = 1000;

type LimitedCall = Pick<Call<unknown>, 'gate' | 'intervalMs' | 'limit'>;

/** A call that waits until its gate and its slots let it start. */
export interface WaitingCall {
  readonly record: number;
  /** The stage can change while the call waits, because other calls for the same record can start. */
  readonly stage: CallStage;
}

/** There is one gate for each origin and credential, and one set of slots for each concurrency limit. */
export class Gates {
  readonly #clock: Clock;
  readonly #permitsOf: ((gate: string) => Permits) | undefined;
  readonly #gates = new Map<string, Gate>();
  readonly #slots = new Map<string, Slots>();
  /** The gate of the last call. Most calls have the same gate, and building its key takes 1 % of a run's CPU time. */
  #last: { readonly origin: string; readonly credential: string | undefined; readonly gate: Gate } | undefined;

  /** `permitsOf` is set if several processes share a gate. */
  constructor(clock: Clock, permitsOf?: (gate: string) => Permits) {
    this.#clock = clock;
    this.#permitsOf = permitsOf;
  }

  gateOf({ gate: { origin, credential } }: LimitedCall): Gate {
    if (this.#last?.origin !== origin || this.#last.credential !== credential)
      this.#last = { origin, credential, gate: this.#gateOf(gateKey(origin, credential)) };
    return this.#last.gate;
  }

  endRates(run: object): void {
    for (const gate of this.#gates.values()) gate.endRate(run);
  }

  /** Another process has paused the gate. `isPaced` if it goes on at a pace that it has learned from a refusal. */
  pausedElsewhere(gate: string, waitMs: number, isPaced = false): void {
    this.#gateOf(gate).pausedElsewhere(waitMs, isPaced);
  }

  #gateOf(key: string): Gate {
    const found = this.#gates.get(key);
    if (found) return found;
    if (this.#gates.size >= maxIdleGates) {
      this.#last = undefined;
      for (const [key, gate] of this.#gates) if (gate.isIdle()) this.#gates.delete(key);
    }
    const gate = new Gate(this.#clock, this.#permitsOf?.(key));
    this.#gates.set(key, gate);
    return gate;
  }

  /** The slots exist while a run uses them, and for later runs if the limit has adapted to the server. */
  slotsOf(key: string): Slots {
    const found = this.#slots.get(key);
    if (found) return found;
    const slots: Slots = new Slots(() => slots.hasFound || this.#slots.delete(key));
    this.#slots.set(key, slots);
    return slots;
  }

  /** Makes a call outside of a run, for example to test a connection. Like a run's calls, it waits for its gate and occupies a slot. */
  async pass<Result>(call: LimitedCall, make: () => Promise<Result>): Promise<Result> {
    const gates = new RunGates(this, new RunPhase());
    try {
      const slots = await gates.enter(call, { record: 1, stage: 'new' });
      return await make().finally(() => slots.free());
    } finally {
      gates.close();
    }
  }
}

export class RunGates implements SlotUser {
  readonly #gates: Gates;
  readonly #phase: RunPhase;
  readonly #limits = new Map<string, RunSlots>();
  readonly #room = new Wakeup();
  #hasRate = false;
  readonly report: (event: ConcurrencyEvent) => void;

  /** `report` receives the changes of limits that adapt to a server. */
  constructor(gates: Gates, phase: RunPhase, report: (event: ConcurrencyEvent) => void = () => undefined) {
    this.#gates = gates;
    this.#phase = phase;
    this.report = report;
    phase.onPhase(() => {
      for (const limit of this.#limits.values()) limit.turnAway();
      this.#room.wake();
    });
  }

  /**
   * Resolves when the call may start, with the slots of which it occupies one until `free`. Of the waiting calls, the call with the lowest
   * record number starts first. A call occupies no slot while it waits. Rejects with Unfinished if the run no longer admits the call.
   */
  enter(call: LimitedCall, waiting: WaitingCall): Promise<Slots> {
    if (!this.#phase.admits(waiting.record, waiting.stage)) return Promise.reject(new Unfinished());
    const gate = this.#gates.gateOf(call);
    if (call.intervalMs !== undefined) {
      this.#hasRate = true;
      gate.limitRate(this, call.intervalMs);
    }
    return this.#limitOf(call).enter(waiting, gate);
  }

  answered(call: LimitedCall, times: AttemptTimes): void {
    this.#gates.gateOf(call).answered(times);
  }

  refused(call: LimitedCall, refusal: Refusal): Pace | undefined {
    return this.#gates.gateOf(call).refused(refusal);
  }

  pause(call: LimitedCall, waitMs: number, isPaced = false): void {
    this.#gates.gateOf(call).pause(waitMs, isPaced);
  }

  room(): Promise<void> | undefined {
    return this.#hasRoom() ? undefined : this.#room.wait();
  }

  checkRoom(): void {
    if (this.#room.isAwaited && this.#hasRoom()) this.#room.wake();
  }

  close(): void {
    if (this.#hasRate) this.#gates.endRates(this);
    for (const { slots } of this.#limits.values()) slots.quit(this);
  }

  /**
   * False if at least as many calls of the run wait for slots as there are slots. More waiting calls would only use memory. If slots are
   * free, calls that wait at a paused gate do not count, because other gates might be open.
   */
  #hasRoom(): boolean {
    if (this.#phase.current !== 'open') return true;
    for (const { slots, waiting } of this.#limits.values()) if (!slots.isOpen() && waiting >= slots.max) return false;
    return true;
  }

  #limitOf({ limit }: LimitedCall): RunSlots {
    const { key } = limit;
    const found = this.#limits.get(key);
    if (found) return found;
    const slots = this.#gates.slotsOf(key);
    slots.join(this, limit);
    const added = new RunSlots(slots, this.#phase, () => this.checkRoom());
    this.#limits.set(key, added);
    return added;
  }
}

class RunSlots {
  readonly slots: Slots;
  readonly #run: RunPhase;
  readonly #checkRoom: () => void;
  readonly #queues = new Map<Gate, CallQueue>();
  #waiting = 0;

  constructor(slots: Slots, run: RunPhase, checkRoom: () => void) {
    this.slots = slots;
    this.#run = run;
    this.#checkRoom = checkRoom;
  }

  get waiting(): number {
    return this.#waiting;
  }

  enter(call: WaitingCall, gate: Gate): Promise<Slots> {
    const { slots } = this;
    // A call that starts immediately overtakes no waiting call: calls wait only if all slots are in use, or if a different gate is closed.
    if (gate.turns.areNone && slots.isOpen() && gate.isOpen()) {
      slots.pass();
      gate.pass();
      return Promise.resolve(slots);
    }
    this.#waiting++;
    const started = this.#queueAt(gate).wait(call);
    if (slots.isOpen()) gate.startReady();
    return started;
  }

  turnAway(): void {
    for (const queue of this.#queues.values()) queue.turnAway();
  }

  #queueAt(gate: Gate): CallQueue {
    const found = this.#queues.get(gate);
    if (found) return found;
    const queue = new CallQueue(this.#run, this.slots, gate, () => {
      this.#waiting--;
      if (queue.isEmpty) this.#queues.delete(gate);
      this.#checkRoom();
    });
    this.#queues.set(gate, queue);
    return queue;
  }
}

/** A waiting call, with functions that end the wait: `start` if the call may start, `turnAway` if the run no longer admits it. */
interface Waiter {
  readonly call: WaitingCall;
  start(slots: Slots): void;
  turnAway(reason: Unfinished): void;
}

/** Calls of one run at one gate for the same slots, ordered by record number. A retry keeps the position of its record. */
class CallQueue {
  readonly #run: RunPhase;
  readonly #slots: Slots;
  readonly #gate: Gate;
  readonly #left: () => void;
  #waiters: Waiter[] = [];

  /** `left` is called whenever a call has left the queue. */
  constructor(run: RunPhase, slots: Slots, gate: Gate, left: () => void) {
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
  wait(call: WaitingCall): Promise<Slots> {
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

/** Inserts a waiting call according to its record number. Most records come in order, so the search starts at the end. */
function insert(waiters: Waiter[], waiter: Waiter): void {
  const { record } = waiter.call;
  let place = waiters.push(waiter) - 1;
  for (; place > 0 && (waiters[place - 1] as Waiter).call.record > record; place--) waiters[place] = waiters[place - 1] as Waiter;
  waiters[place] = waiter;
}

export function gateKey(origin: string, credential: string | undefined): string {
  return credential === undefined ? origin : `${origin} ${credential}`;
}
