import type { Call } from '../core/call.ts';
import { Unfinished } from '../core/failure.ts';
import type { Clock } from '../core/ports.ts';
import { Gate, Slots, type WaitingCall } from './gate.ts';
import { type RunPhase, Wakeup } from './phase.ts';

/** From this number of gates on, idle ones are forgotten: records can name any number of hosts. */
const maxIdleGates = 1000;

/** The gates of all runs of a process: one for each origin and credential. */
export class Gates {
  readonly #clock: Clock;
  readonly #gates = new Map<string, Gate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The gate of a call. */
  gateOf({ gate: { origin, credential } }: Call<unknown>): Gate {
    const key = gateKey(origin, credential);
    const found = this.#gates.get(key);
    if (found) return found;
    if (this.#gates.size >= maxIdleGates) {
      for (const [key, gate] of this.#gates) if (gate.forgetIfIdle()) this.#gates.delete(key);
    }
    const gate = new Gate(this.#clock);
    this.#gates.set(key, gate);
    return gate;
  }
}

/** The gates as one run sees them. It shares rates and pauses with other runs. Its slots are its own: two flows may have nodes of the same id. */
export class RunGates {
  readonly #gates: Gates;
  readonly #phase: RunPhase;
  readonly #slots = new Map<string, Slots>();
  readonly #room = new Wakeup();

  constructor(gates: Gates, phase: RunPhase) {
    this.#gates = gates;
    this.#phase = phase;
    phase.onPhase(() => {
      for (const gate of this.#gatesInUse()) gate.turnAway(phase);
      this.#room.wake();
    });
  }

  /** Resolves when the call has a slot and may start: the lowest record first. Rejects with Unfinished once the run no longer admits it. */
  enter(call: Call<unknown>, waiting: WaitingCall): Promise<void> {
    if (!this.#phase.admits(waiting.record, waiting.stage)) return Promise.reject(new Unfinished());
    const gate = this.#gates.gateOf(call);
    if (call.intervalMs !== undefined) gate.limitRate(call.intervalMs);
    return gate.enter(waiting, this.#slotsOf(call), this.#phase);
  }

  /** Frees the slot of a call. */
  leave(call: Call<unknown>): void {
    const slots = this.#slotsOf(call);
    slots.inFlight--;
    for (const gate of slots.gates) gate.startReady();
    if (this.#room.isAwaited && this.#hasRoom()) this.#room.wake();
  }

  /** Starts no call at the gate of this one for `waitMs`. */
  pause(call: Call<unknown>, waitMs: number): void {
    this.#gates.gateOf(call).pause(waitMs);
  }

  /** Resolves when more records are worth beginning; `undefined` when they are now. */
  room(): Promise<void> | undefined {
    return this.#hasRoom() ? undefined : this.#room.wait();
  }

  /** Forgets the run at the gates that it shares with others. */
  close(): void {
    for (const gate of this.#gatesInUse()) gate.forget(this.#phase);
  }

  /** False while as many calls wait for slots as there are slots: more would only take up memory. Calls at a paused gate take no slots, as other gates may be open. */
  #hasRoom(): boolean {
    if (this.#phase.current !== 'open') return true;
    for (const slots of this.#slots.values()) if (slots.areTaken && slots.waiting >= slots.max) return false;
    return true;
  }

  #slotsOf({ limit: { key, max } }: Call<unknown>): Slots {
    const found = this.#slots.get(key);
    if (found) return found;
    const slots = new Slots(max);
    this.#slots.set(key, slots);
    return slots;
  }

  #gatesInUse(): Set<Gate> {
    return new Set([...this.#slots.values()].flatMap(({ gates }) => [...gates]));
  }
}

/** The name of a gate: one for each origin and credential. */
export function gateKey(origin: string, credential: string | undefined): string {
  return credential === undefined ? origin : `${origin} ${credential}`;
}
