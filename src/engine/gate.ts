import type { Call } from '../core/call.ts';
import { Unfinished } from '../core/failure.ts';
import type { Clock } from '../core/ports.ts';

/** Lets calls through: so many at once, so often, and none while the other side wants to be left alone. */
export interface Gates {
  /**
   * Resolves when the call may start; of those who wait, the record that was read first goes first. Rejects with Unfinished when it is
   * turned away. `standing`: may change while it waits: other calls of the same record may be let through.
   */
  enter(call: Call<unknown>, record: number, standing: () => Standing): Promise<void>;
  /** The call has ended. */
  leave(call: Call<unknown>): void;
  /** Resolves when more records are worth beginning; `undefined` when they are now. */
  room(): Promise<void> | undefined;
  /** Nobody passes this gate for so long. */
  pause(call: Call<unknown>, ms: number): void;
  /**
   * From now on turns away the calls of new records that are not wanted, all that are not paid for yet, or every call at all, those that
   * wait included. What was refused before stays so.
   */
  refuse(whom: Refused): void;
}

/** Nothing was sent for the record yet; something was, but nothing for this call is held; its credit is held. */
export type Standing = 'new' | 'begun' | 'paid';

type Refused = 'new' | 'unpaid' | 'all';

const refusedBy: Readonly<Record<Refused, readonly Standing[]>> = {
  new: ['new'],
  unpaid: ['new', 'begun'],
  all: ['new', 'begun', 'paid'],
};

interface Waiter {
  readonly record: number;
  readonly standing: () => Standing;
  readonly start: () => void;
  readonly turnAway: (reason: Unfinished) => void;
}

/** How many calls of one node, or of one connection, are in flight. */
interface Limit {
  readonly max: number;
  inFlight: number;
  waiting: number;
  readonly gates: Set<Gate>;
}

/** Those who wait at one gate for a place under one limit, in the order of their records: a retry does not queue up again. */
interface Queue {
  readonly limit: Limit;
  waiters: Waiter[];
}

/** One origin with one credential. Times are those of the monotonic clock. */
interface Gate {
  readonly queues: Queue[];
  pausedUntilMs: number;
  nextStartMs: number;
  intervalMs: number;
  wakesAtMs: number;
}

/** A timer may be late by so much without lowering the rate. */
const slackMs = 10;

/** Gates that nobody waits at are forgotten beyond this count: records may name any number of hosts. */
const keptGates = 1000;

/** Makes the gates of a run. `isWanted`: whether a record may be begun while new ones are refused. */
export function createGates(clock: Clock, isWanted: (record: number) => boolean = () => false): Gates {
  const gates = new Map<string, Gate>();
  const limits = new Map<string, Limit>();
  let refused: Refused | undefined;
  let wakeRoom: (() => void) | undefined;

  return {
    enter(call, record, standing) {
      if (isRefused(record, standing())) return Promise.reject(new Unfinished());
      const gate = gateOf(call);
      const limit = limitOf(call);
      return new Promise((start, turnAway) => {
        queueUp(queueOf(gate, limit).waiters, { record, standing, start, turnAway });
        limit.waiting++;
        pump(gate);
      });
    },
    leave(call) {
      const limit = limitOf(call);
      limit.inFlight--;
      for (const gate of limit.gates) pump(gate);
      if (wakeRoom && hasRoom()) wakeRoom();
    },
    room() {
      if (hasRoom()) return undefined;
      return new Promise((resolve) => {
        wakeRoom = resolve;
      });
    },
    pause(call, ms) {
      const gate = gateOf(call);
      gate.pausedUntilMs = Math.max(gate.pausedUntilMs, clock.now() + ms);
    },
    refuse(whom) {
      if (refused === undefined || refusedBy[whom].length > refusedBy[refused].length) refused = whom;
      for (const queue of [...gates.values()].flatMap(({ queues }) => queues)) {
        const away = new Set(queue.waiters.filter(({ record, standing }) => isRefused(record, standing())));
        queue.waiters = queue.waiters.filter((waiter) => !away.has(waiter));
        for (const waiter of away) waiter.turnAway(new Unfinished());
      }
      wakeRoom?.();
    },
  };

  function isRefused(record: number, standing: Standing): boolean {
    if (refused === undefined || !refusedBy[refused].includes(standing)) return false;
    return refused !== 'new' || !isWanted(record);
  }

  /** Where as many wait as can be in flight, more would only take up memory. Where a gate is paused, others may be open. */
  function hasRoom(): boolean {
    if (refused !== undefined) return true;
    for (const { max, inFlight, waiting } of limits.values()) if (inFlight >= max && waiting >= max) return false;
    return true;
  }

  function gateOf(call: Call<unknown>): Gate {
    const key = gateKey(call.gate.origin, call.gate.credential);
    const intervalMs = call.intervalMs ?? 0;
    const known = gates.get(key);
    if (known) {
      known.intervalMs = Math.max(known.intervalMs, intervalMs);
      return known;
    }
    if (gates.size >= keptGates) forgetIdle();
    const gate: Gate = { queues: [], pausedUntilMs: 0, nextStartMs: 0, intervalMs, wakesAtMs: 0 };
    gates.set(key, gate);
    return gate;
  }

  function forgetIdle(): void {
    const now = clock.now();
    for (const [key, gate] of gates) {
      const isIdle = gate.pausedUntilMs <= now && gate.nextStartMs <= now && gate.queues.every(({ waiters }) => waiters.length === 0);
      if (!isIdle) continue;
      gates.delete(key);
      for (const { limit } of gate.queues) limit.gates.delete(gate);
    }
  }

  function limitOf(call: Call<unknown>): Limit {
    const known = limits.get(call.limit.key);
    if (known) return known;
    const limit: Limit = { max: call.limit.max, inFlight: 0, waiting: 0, gates: new Set() };
    limits.set(call.limit.key, limit);
    return limit;
  }

  function queueOf(gate: Gate, limit: Limit): Queue {
    const known = gate.queues.find((queue) => queue.limit === limit);
    if (known) return known;
    const queue: Queue = { limit, waiters: [] };
    gate.queues.push(queue);
    limit.gates.add(gate);
    return queue;
  }

  /** Starts whoever may start now, in their turn. */
  function pump(gate: Gate): void {
    for (;;) {
      const queue = nextQueue(gate);
      if (!queue) return;
      const now = clock.now();
      const readyAtMs = Math.max(gate.pausedUntilMs, gate.nextStartMs);
      if (readyAtMs > now) {
        wakeAt(gate, readyAtMs);
        return;
      }
      queue.limit.inFlight++;
      queue.limit.waiting--;
      if (gate.intervalMs > 0) gate.nextStartMs = Math.max(gate.nextStartMs, now - slackMs) + gate.intervalMs;
      queue.waiters.shift()?.start();
    }
  }

  function wakeAt(gate: Gate, atMs: number): void {
    if (gate.wakesAtMs === atMs) return;
    gate.wakesAtMs = atMs;
    void clock.sleepUntil(atMs).then(() => {
      if (gate.wakesAtMs === atMs) gate.wakesAtMs = 0;
      pump(gate);
    });
  }
}

/** What a gate is called: one for each origin and credential. */
export function gateKey(origin: string, credential: string | undefined): string {
  return credential === undefined ? origin : `${origin} ${credential}`;
}

/** Most records come in their order, so the place is sought from the end. */
function queueUp(waiters: Waiter[], waiter: Waiter): void {
  let place = waiters.push(waiter) - 1;
  for (; place > 0 && (waiters[place - 1] as Waiter).record > waiter.record; place--) waiters[place] = waiters[place - 1] as Waiter;
  waiters[place] = waiter;
}

/** The queue whose turn it is, among those whose limit has room. */
function nextQueue(gate: Gate): Queue | undefined {
  let next: Queue | undefined;
  for (const queue of gate.queues) {
    const [first] = queue.waiters;
    if (!first || queue.limit.inFlight >= queue.limit.max) continue;
    if (!next || first.record < (next.waiters[0] as Waiter).record) next = queue;
  }
  return next;
}
