import type { Batch, Twin } from '../core/batch.ts';
import type { LastAnswer } from '../core/call.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { NodeContext } from '../core/node.ts';
import type { Clock } from '../core/ports.ts';
import type { Caller, Progress, RunCall } from './call.ts';

/** Gathers the records whose node asks for many of them with one call. */
export interface Batches {
  /** A record joins; resolves with what came of it. A batch is sent when it is full, or when no more records can join it. */
  join<Entry, Result>(batch: Batch<Entry, Result>, entry: Entry, place: Place): Promise<Result>;
  /**
   * Records may come to a batch as long as something is under way at the nodes before it. `step`: which node of the flow, from 0.
   * `waiting`: it only waits, and nobody waits for it in a batch inside the same node.
   */
  during<Result>(step: number, work: Promise<Result>, kind?: 'waiting'): Promise<Result>;
  /** Whether records can come may have changed. */
  look(): void;
  /** Whether there is anything to join. */
  readonly areAny: boolean;
}

/** For a flow that gathers nothing. */
export const noBatches: Batches = {
  join: (batch) => Promise.reject(new Error(`no batch of ${batch.size} is expected`)),
  during: (_step, work) => work,
  look: () => undefined,
  areAny: false,
};

/** Where a record joins. */
export interface Place {
  readonly caller: Caller;
  /** Which node of the flow, from 0. */
  readonly step: number;
  /** Whether the node stands inside that node: its records may come around again. */
  readonly isInner: boolean;
}

/** Whether records may still be begun: some, none while those that have begun wait, or none at all. */
export type Supply = 'more' | 'blocked' | 'ended';

/** A batch that is not sent yet. */
interface Open {
  readonly place: Place;
  /** What the batches are called that are like it, but for their twins. */
  readonly first: string;
  readonly members: Member[];
  /** What is asked for under each key that has twins. */
  readonly marks: Map<string, string>;
  bytes: number;
  send(members: readonly Member[]): Promise<void>;
}

interface Member {
  readonly entry: unknown;
  readonly caller: Caller;
  readonly resolve: (result: never) => void;
  readonly reject: (reason: unknown) => void;
}

/** What batches need around them. */
export interface BatchTools {
  /** The nodes of the flow, those inside others included, in their order. */
  readonly nodes: readonly { readonly id: string }[];
  readonly clock: Pick<Clock, 'nextTurn'>;
  readonly call: RunCall;
  supply(): Supply;
}

/** Makes the batches of a run. */
export function createBatches({ nodes, clock, call, supply }: BatchTools): Batches {
  const places = new Map(nodes.map(({ id }, index) => [id, index]));
  const open = new Map<string, Open>();
  /** For what twins are found by, the open batch of each. */
  const twins = new Map<string, Map<string, string>>();
  /** For each node of the flow, how much is under way there, and how much only waits. */
  const working: number[] = [];
  const sleeping: number[] = [];
  let isLooking = false;
  return { join, during, look, areAny: true };

  function join<Entry, Result>(batch: Batch<Entry, Result>, entry: Entry, place: Place): Promise<Result> {
    const { node } = place.caller;
    const twin = batch.twinOf(entry);
    const first = batch.key === '' ? node : `${node}\0${batch.key}`;
    const key = openKey(first, twin);
    const bytes = batch.bytesOf(entry);
    if ((open.get(key)?.bytes ?? 0) + bytes > batch.maxBytes) sendOff(key);
    let joined = open.get(key);
    if (!joined) {
      joined = { place, first, members: [], marks: new Map(), bytes: 0, send: (members) => sent(batch, members, place) };
      open.set(key, joined);
    }
    if (twin) keepTwin(joined, twin, key);
    joined.bytes += bytes;
    const { members } = joined;
    const result = new Promise<Result>((resolve, reject) => {
      members.push({ entry, caller: place.caller, resolve, reject });
    });
    if (members.length >= batch.size) sendOff(key);
    else look();
    return result;
  }

  /** Of batches that are alike, the one in which the same is asked for, or one in which nobody stands who could be taken for this one. */
  function openKey(first: string, twin: Twin | undefined): string {
    if (!twin) return first;
    const others = twins.get(twinKey(first, twin.key));
    const own = others?.get(twin.mark);
    if (own !== undefined) return own;
    // As many as there are stand in as many batches, unless some were sent.
    for (let number = others?.size ?? 0; ; number++) {
      const key = number === 0 ? first : `${first}\0\0${number}`;
      if (!open.get(key)?.marks.has(twin.key)) return key;
    }
  }

  function keepTwin({ first, marks }: Open, { key, mark }: Twin, openKey: string): void {
    marks.set(key, mark);
    const others = twins.get(twinKey(first, key));
    if (others) others.set(mark, openKey);
    else twins.set(twinKey(first, key), new Map([[mark, openKey]]));
  }

  function forgetTwins({ first, marks }: Open): void {
    for (const [key, mark] of marks) {
      const others = twins.get(twinKey(first, key));
      others?.delete(mark);
      if (others?.size === 0) twins.delete(twinKey(first, key));
    }
  }

  async function during<Result>(step: number, work: Promise<Result>, kind?: 'waiting'): Promise<Result> {
    const counts = kind === 'waiting' ? sleeping : working;
    counts[step] = (counts[step] ?? 0) + 1;
    try {
      return await work;
    } finally {
      (counts[step] as number)--;
      look();
    }
  }

  /** What follows from a change is done before anybody is told that no more records can join. */
  function look(): void {
    if (isLooking || open.size === 0) return;
    isLooking = true;
    void clock.nextTurn().then(() => {
      isLooking = false;
      sendWaiting();
    });
  }

  /** Those that wait at the first node go first: their records may join the others. */
  function sendWaiting(): void {
    let first = Number.POSITIVE_INFINITY;
    for (const batch of open.values()) first = Math.min(first, placeOf(batch));
    // What is sent is under way: who else is complete is told before.
    const complete = [...open].filter(([, batch]) => placeOf(batch) === first && isComplete(batch.place));
    for (const [key] of complete) sendOff(key);
  }

  function placeOf({ place: { caller } }: Open): number {
    return places.get(caller.node) ?? 0;
  }

  function isComplete({ step, isInner }: Place): boolean {
    const state = supply();
    if (state === 'more') return false;
    const until = state === 'blocked' ? Number.POSITIVE_INFINITY : step;
    const isAt = (counts: readonly number[], end: number) => counts.slice(0, end).some((count) => count > 0);
    if (!isInner) return !isAt(working, until) && !isAt(sleeping, until);
    return !isAt(working, Math.max(until, step + 1)) && !isAt(sleeping, step);
  }

  function sendOff(key: string): void {
    const batch = open.get(key);
    open.delete(key);
    if (!batch) return;
    forgetTwins(batch);
    const members = batch.members.sort((a, b) => a.caller.record - b.caller.record);
    void during(batch.place.step, batch.send(members));
  }

  async function sent<Entry, Result>(batch: Batch<Entry, Result>, members: readonly Member[], { caller }: Place): Promise<void> {
    const together = callerOf(members, caller.node);
    const callTogether: NodeContext['call'] = (spec) => call(spec, together);
    try {
      const results = await batch.send(
        members.map(({ entry }) => entry as Entry),
        callTogether,
      );
      for (let index = 0; index < members.length; index++) {
        const { resolve, reject } = members[index] as Member;
        const result = results[index];
        if (result instanceof Failure || result instanceof Unfinished) reject(result);
        else resolve(result as never);
      }
    } catch (error) {
      for (const { reject } of members) reject(error);
    }
  }
}

function twinKey(first: string, key: string): string {
  return `${first}\0\0${key}`;
}

/** Many records as one: something was sent for all of them, and all are asked to wait. */
function callerOf(members: readonly Member[], node: string): Caller {
  const callers = members.map(({ caller }) => caller);
  const progress: Progress = {
    get hasBegun() {
      return callers.some((caller) => caller.progress.hasBegun);
    },
    begin(node) {
      for (let index = 0; index < callers.length; index++) (callers[index] as Caller).progress.begin(node, index > 0);
    },
  };
  const heard = (answer: LastAnswer) => {
    for (const caller of callers) caller.heard?.(answer);
  };
  return {
    ...{ record: callers[0]?.record ?? 0, node, progress },
    isLost: () => callers.every((caller) => caller.isLost?.()),
    heard: callers.every((caller) => caller.heard) ? heard : undefined,
  };
}
