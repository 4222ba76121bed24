import type { Call } from '../core/call.ts';
import type { ConcurrencyEvent } from '../core/event.ts';
import { Unfinished } from '../core/failure.ts';
import type { Clock, Permits } from '../core/ports.ts';
import { Gate, Slots, type SlotUser } from './gate.ts';
import { RunPhase, Wakeup } from './phase.ts';
import { Queue, type Slot, type WaitingCall } from './turns.ts';

/** From this number of gates on, idle gates are forgotten: records can name any number of hosts. */
const maxIdleGates = 1000;

/** The gate and the limits of a call. */
export type LimitedCall = Pick<Call<unknown>, 'gate' | 'intervalMs' | 'limit'>;

/** The gates and slots of all runs of a process: one gate for each origin and credential, slots for each limit. */
export class Gates {
  readonly #clock: Clock;
  readonly #permitsOf: ((gate: string) => Permits) | undefined;
  readonly #gates = new Map<string, Gate>();
  readonly #slots = new Map<string, Slots>();

  /** `permitsOf`: the starts at a gate that several processes share; undefined for one process. */
  constructor(clock: Clock, permitsOf?: (gate: string) => Permits) {
    this.#clock = clock;
    this.#permitsOf = permitsOf;
  }

  /** The gate of a call. */
  gateOf({ gate: { origin, credential } }: LimitedCall): Gate {
    return this.#gateOf(gateKey(origin, credential));
  }

  /** Pauses a gate in this process: another process has paused it. */
  pauseHere(gate: string, waitMs: number): void {
    this.#gateOf(gate).pauseHere(waitMs);
  }

  #gateOf(key: string): Gate {
    const found = this.#gates.get(key);
    if (found) return found;
    if (this.#gates.size >= maxIdleGates) {
      for (const [key, gate] of this.#gates) if (gate.isIdle()) this.#gates.delete(key);
    }
    const gate = new Gate(this.#clock, this.#permitsOf?.(key));
    this.#gates.set(key, gate);
    return gate;
  }

  /** The slots of a limit. They exist as long as a run uses them, or if they have found their number. */
  slotsOf(key: string): Slots {
    const found = this.#slots.get(key);
    if (found) return found;
    // A number that was found serves the next runs.
    const slots: Slots = new Slots(() => slots.hasFound || this.#slots.delete(key));
    this.#slots.set(key, slots);
    return slots;
  }

  /** Makes a call that belongs to no run, such as a test: it waits at its gate and holds a slot as the calls of runs do. */
  async pass<Result>(call: LimitedCall, make: () => Promise<Result>): Promise<Result> {
    const gates = new RunGates(this, new RunPhase());
    try {
      const slot = await gates.enter(call, { record: 1, stage: 'new' });
      return await make().finally(() => slot.free());
    } finally {
      gates.close();
    }
  }
}

/** The gates as one run sees them. It shares rates, pauses and slots with other runs. */
export class RunGates implements SlotUser {
  readonly #gates: Gates;
  readonly #phase: RunPhase;
  readonly #limits = new Map<string, RunSlots>();
  readonly #room = new Wakeup();
  readonly report: (event: ConcurrencyEvent) => void;

  /** `report`: takes the changes of the numbers of calls in flight. */
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
   * Resolves with a slot when the call may start: the lowest record first. A call that waits holds no slot. Rejects with Unfinished
   * once the run no longer admits the call.
   */
  enter(call: LimitedCall, waiting: WaitingCall): Promise<Slot> {
    if (!this.#phase.admits(waiting.record, waiting.stage)) return Promise.reject(new Unfinished());
    const gate = this.#gates.gateOf(call);
    if (call.intervalMs !== undefined) gate.limitRate(call.intervalMs);
    return this.#limitOf(call).enter(waiting, gate);
  }

  /** Pauses the gate of a call for `waitMs`. */
  pause(call: LimitedCall, waitMs: number): void {
    this.#gates.gateOf(call).pause(waitMs);
  }

  /** Resolves when the run has room for more records; `undefined` if it has room now. */
  room(): Promise<void> | undefined {
    return this.#hasRoom() ? undefined : this.#room.wait();
  }

  checkRoom(): void {
    if (this.#room.isAwaited && this.#hasRoom()) this.#room.wake();
  }

  /** Ends the use of the slots. The run makes no more calls. */
  close(): void {
    for (const { slots } of this.#limits.values()) slots.quit(this);
  }

  /** False while as many calls of the run wait for slots as there are slots: more would only take up memory. Calls at a paused gate take no slots, as other gates may be open. */
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

/** The calls of one run that wait for the slots of one limit. */
class RunSlots {
  readonly slots: Slots;
  readonly #run: RunPhase;
  readonly #checkRoom: () => void;
  readonly #queues = new Map<Gate, Queue>();
  #waiting = 0;

  constructor(slots: Slots, run: RunPhase, checkRoom: () => void) {
    this.slots = slots;
    this.#run = run;
    this.#checkRoom = checkRoom;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves with a slot when the call may start. */
  enter(call: WaitingCall, gate: Gate): Promise<Slot> {
    const { slots } = this;
    // No call is overtaken: a call waits for a slot only while all slots are taken, or at another gate.
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

  /** Turns away the calls that the run no longer admits. */
  turnAway(): void {
    for (const queue of this.#queues.values()) queue.turnAway();
  }

  #queueAt(gate: Gate): Queue {
    const found = this.#queues.get(gate);
    if (found) return found;
    const queue = new Queue(this.#run, { slots: this.slots, gate }, () => {
      this.#waiting--;
      if (queue.isEmpty) this.#queues.delete(gate);
      this.#checkRoom();
    });
    this.#queues.set(gate, queue);
    return queue;
  }
}

/** The name of a gate: one for each origin and credential. */
export function gateKey(origin: string, credential: string | undefined): string {
  return credential === undefined ? origin : `${origin} ${credential}`;
}
