import { nextStart, type Pace, paceAfterAnswer, paceAfterFirst, paceAfterRefusal } from '../../src/engine/pace.ts';
import { seeded } from './simulated-server.ts';

/** A server that limits its requests as `limit_req` of nginx does, and clients that send as many requests as their pace allows. */
export interface SimulatedLimit {
  readonly perSecond: number;
  /** If set, the server accepts `perSecond` requests in each second at any time, and refuses all others until the second is over. */
  readonly isWindow?: boolean;
  /** nginx accepts this many requests more than the rate allows. */
  readonly burst: number;
  /** False if nginx delays these requests until the rate allows them. */
  readonly isBurstAtOnce: boolean;
  /** The wait in ms that a refusal asks for; 0 for none. */
  readonly retryAfterMs: number;
  readonly latencyMs: number;
  /** Each client has its own pace, like a worker of a queue. */
  readonly clients?: number;
  readonly seconds?: number;
  /** The most requests in flight for each client. */
  readonly concurrency?: number;
  /** Timers of Node.js end up to this many ms late, and so do requests. */
  readonly jitterMs?: number;
  readonly seed?: number;
}

interface SimulatedPace {
  /** The share of the allowed requests that were accepted after the first 5 s. Waits that refusals have asked for are not allowed time. */
  readonly share: number;
  /** The share of the requests after the first 10 s that were refused. */
  readonly refusedLate: number;
  /** The rate that the summary of the run would show. */
  readonly learned: number | undefined;
}

class Client {
  pace: Pace | undefined;
  answers = 0;
  firstMs = 0;
  startMs = 0;
  pausedUntilMs = 0;
  inFlight = 0;
  /** Time at which the client's timer ends. */
  timerMs = -1;
}

export function simulateLimit(limit: SimulatedLimit): SimulatedPace {
  const { perSecond, burst, isBurstAtOnce, retryAfterMs, latencyMs, seconds = 60, concurrency = 64, jitterMs = 1, seed = 1 } = limit;
  const random = seeded(seed);
  const clients = Array.from({ length: limit.clients ?? 1 }, () => new Client());
  /** The next event is the last. */
  const events: { readonly atMs: number; readonly happen: () => void }[] = [];
  let [nowMs, excess, lastMs, pausedUntilMs] = [0, 0, 0, 0];
  let [accepted, pausedMs, sentLate, refusedLate] = [0, 0, 0, 0];

  const at = (atMs: number, happen: () => void) => {
    let place = 0;
    while (place < events.length && (events[place] as { atMs: number }).atMs > atMs) place++;
    events.splice(place, 0, { atMs, happen });
  };

  const start = (client: Client) => {
    while (client.inFlight < concurrency && Math.max(client.startMs, client.pausedUntilMs) <= nowMs) {
      client.inFlight++;
      if (client.pace) client.startMs = nextStart(client.pace, client.startMs, nowMs);
      const sentAtMs = nowMs;
      at(nowMs + latencyMs / 2 + random() * jitterMs, () => arrive(client, sentAtMs));
    }
    const nextMs = Math.max(client.startMs, client.pausedUntilMs);
    if (client.inFlight === concurrency || client.timerMs > nowMs) return;
    client.timerMs = nextMs + random() * jitterMs;
    at(client.timerMs, () => start(client));
  };

  /** The leaky bucket of ngx_http_limit_req_module. */
  const arrive = (client: Client, sentAtMs: number) => {
    if (limit.isWindow && Math.floor(nowMs / 1000) !== Math.floor(lastMs / 1000)) excess = 0;
    const now = Math.max(0, excess - (limit.isWindow ? 0 : ((nowMs - lastMs) * perSecond) / 1000) + 1);
    const isAccepted = now <= burst + 1;
    if (isAccepted) [excess, lastMs] = [now, nowMs];
    const delayMs = isAccepted && !isBurstAtOnce ? Math.max(0, ((now - 1) * 1000) / perSecond) : 0;
    at(nowMs + delayMs + latencyMs / 2 + random() * jitterMs, () => end(client, sentAtMs, isAccepted));
  };

  const end = (client: Client, sentAtMs: number, isAccepted: boolean) => {
    const times = { sentAtMs, atMs: nowMs };
    client.inFlight--;
    if (nowMs > 10_000) sentLate++;
    if (isAccepted) {
      if (nowMs >= 5000) accepted++;
      if (client.pace) client.pace = paceAfterAnswer(client.pace, times);
      else if (client.answers++ === 0) client.firstMs = nowMs;
    } else {
      if (nowMs > 10_000) refusedLate++;
      const refusal = { ...times, pauseMs: retryAfterMs, isRepeated: false };
      client.pace = client.pace ? paceAfterRefusal(client.pace, refusal) : paceAfterFirst(client.answers, client.firstMs, refusal);
      if (nowMs >= 5000) pausedMs += nowMs + retryAfterMs - Math.max(nowMs, pausedUntilMs);
      pausedUntilMs = nowMs + retryAfterMs;
      for (const each of clients) each.pausedUntilMs = pausedUntilMs;
    }
    start(client);
  };

  for (const client of clients) start(client);
  for (let event = events.pop(); event && event.atMs <= seconds * 1000; event = events.pop()) {
    nowMs = event.atMs;
    event.happen();
  }
  const allowed = (perSecond * (seconds * 1000 - 5000 - pausedMs)) / 1000;
  return { share: accepted / allowed, refusedLate: refusedLate / sentLate, learned: clients[0]?.pace?.learned };
}
