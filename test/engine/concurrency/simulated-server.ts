import { type AutoState, afterAnswer, afterRefusal, foundBy, startAuto } from '../../../src/engine/concurrency/auto-concurrency.ts';

/** A server whose answers take no real time. */
export interface SimulatedServer {
  /** Requests that it serves at once. */
  readonly served: (nowMs: number) => number;
  /** Ms that it needs for a request. */
  readonly ms: (nowMs: number) => number;
  /** True if it answers 429 to more requests; otherwise they wait. */
  readonly refuses?: boolean;
  readonly seconds: number;
}

/** The figures of a simulation. */
export interface Simulation {
  /** Answers by second. */
  readonly perSecond: readonly number[];
  /** The number found, by second. */
  readonly found: readonly number[];
  /** Maximum of requests in flight after 15 s. */
  readonly mostLater: number;
  readonly answers: number;
  readonly refusals: number;
}

interface Arrival {
  readonly atMs: number;
  readonly sentAtMs: number;
  readonly isRefusal: boolean;
}

/** Sends as many requests as the found number allows, all the time. */
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

/** The arrivals to come, by time. Few come between others, so that the place is sought from the end. */
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

/** Random numbers from 0 to 1, the same in every test run. */
export function seeded(seed: number): () => number {
  let last = seed;
  return () => {
    last = (last * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return last / 2 ** 32;
  };
}

/** Times around 50 ms that vary as those of real servers do. `deviation`: of their logarithms. */
export function lognormal(deviation: number, random: () => number): () => number {
  return () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return 50 * Math.exp(deviation * normal - deviation ** 2 / 2);
  };
}
