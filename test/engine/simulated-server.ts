import { type AutoState, afterAnswer, afterRefusal, foundBy, startAuto } from '../../src/engine/auto-concurrency.ts';

/** A server that is simulated without waiting in real time. */
export interface SimulatedServer {
  /** The number of requests that it can process at once. */
  readonly served: (nowMs: number) => number;
  /** The duration of a request in ms. */
  readonly ms: (nowMs: number) => number;
  /** True if it refuses excess requests with 429; otherwise they are queued. */
  readonly refuses?: boolean;
  readonly seconds: number;
}

/** The results of a simulation. */
export interface Simulation {
  /** The number of responses in each second. */
  readonly perSecond: readonly number[];
  /** The automatic limit at the end of each second. */
  readonly found: readonly number[];
  /** The maximum number of requests in flight after the first 15 s. */
  readonly mostLater: number;
  readonly answers: number;
  readonly refusals: number;
}

interface Arrival {
  readonly atMs: number;
  readonly sentAtMs: number;
  readonly isRefusal: boolean;
}

/** Simulates a client that always sends as many requests as the automatic limit allows. */
export function simulate(server: SimulatedServer): Simulation {
  let state: AutoState = startAuto();
  let [nowMs, inFlight, busy, mostLater, answers, refusals] = [0, 0, 0, 0, 0, 0];
  const waiting: number[] = [];
  const arrivals = new Arrivals();
  const perSecond: number[] = [];
  const found: number[] = [];
  send();
  while (nowMs < server.seconds * 1000) {
    const { atMs, sentAtMs, isRefusal } = arrivals.first();
    nowMs = atMs;
    const second = Math.floor(nowMs / 1000);
    if (isRefusal) {
      refusals++;
      state = afterRefusal(state, { sentAtMs, atMs });
    } else {
      busy--;
      answers++;
      perSecond[second] = (perSecond[second] ?? 0) + 1;
      state = afterAnswer(state, { ms: atMs - sentAtMs, sentAtMs, atMs, inFlight });
      if (waiting.length > 0 && busy < server.served(nowMs)) serve(waiting.shift() as number);
    }
    inFlight--;
    send();
    found[second] = foundBy(state);
    if (nowMs > 15_000) mostLater = Math.max(mostLater, inFlight);
  }
  return { perSecond, found, mostLater, answers, refusals };

  function send(): void {
    for (; inFlight < state.limit; inFlight++) {
      if (busy < server.served(nowMs)) serve(nowMs);
      else if (server.refuses) arrivals.add({ atMs: nowMs + 1, sentAtMs: nowMs, isRefusal: true });
      else waiting.push(nowMs);
    }
  }

  function serve(sentAtMs: number): void {
    busy++;
    arrivals.add({ atMs: nowMs + server.ms(nowMs), sentAtMs, isRefusal: false });
  }
}

/** The future responses, ordered by time. Most are added near the end, so the position is searched from the end. */
class Arrivals {
  readonly #all: Arrival[] = [];

  add(arrival: Arrival): void {
    let place = this.#all.length;
    while (place > 0 && (this.#all[place - 1] as Arrival).atMs > arrival.atMs) place--;
    this.#all.splice(place, 0, arrival);
  }

  first(): Arrival {
    return this.#all.shift() as Arrival;
  }
}

/** Returns a generator of pseudorandom numbers from 0 to 1, which are the same in every test run. */
export function seeded(seed: number): () => number {
  let last = seed;
  return () => {
    last = (last * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return last / 2 ** 32;
  };
}

/**
 * Returns a generator of durations around 50 ms that vary like a real server's. `deviation` is the standard deviation of their logarithms.
 */
export function lognormal(deviation: number, random: () => number): () => number {
  return () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return 50 * Math.exp(deviation * normal - deviation ** 2 / 2);
  };
}
