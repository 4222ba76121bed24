import type { FastifyInstance } from 'fastify';
import type { Server } from '../server.ts';
import type { AnswersUnderWay } from './answers-under-way.ts';

/** A server that is to end. */
export interface EndingServer {
  readonly app: FastifyInstance;
  readonly server: Server;
  readonly answers: AnswersUnderWay;
}

/** The part at the end of the grace time in which runs that were given up are saved. */
const savingMs = 1000;

/**
 * Ends a server: no new connections; answers and calls under way finish, runs are saved, waiting clients get an answer. Work that has not
 * finished by the end of the grace time is given up.
 */
export async function endServer({ app, server, answers }: EndingServer, graceMs: number): Promise<void> {
  const deadline = new Deadline(Math.max(graceMs - savingMs, graceMs / 2), () => giveUp(server));
  server.endWaits();
  server.endListeners();
  const closed = app.close();
  const saved = server.runs.close();
  await deadline.orEarlier(answers.settled());
  await deadline.orEarlier(server.deliveries.settled());
  await Promise.all([saved, server.calls.close()]);
  deadline.clear();
  // Idle keep-alive connections, and connections whose answer was given up.
  app.server.closeAllConnections();
  await closed;
  server.shared.routes.destroy();
}

/** Gives up everything under way at once. */
export function giveUp(server: Server): void {
  server.runs.abort();
  server.calls.abort();
  server.deliveries.abort();
}

/** A moment at which waits end. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #passed: Promise<void>;

  constructor(ms: number, act: () => void) {
    let pass: () => void;
    this.#passed = new Promise((resolve) => {
      pass = resolve;
    });
    this.#timer = setTimeout(() => {
      act();
      pass();
    }, ms);
  }

  async orEarlier(work: Promise<void>): Promise<void> {
    await Promise.race([work, this.#passed]);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** The signals that end a server. */
export interface ServeSignals {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
}

/** Listens to SIGINT and SIGTERM. */
export function watchSignals(): ServeSignals {
  const take: ((signal: NodeJS.Signals) => void)[] = [];
  const [first, second] = [0, 1].map(() => new Promise<NodeJS.Signals>((resolve) => take.push(resolve))) as [
    Promise<NodeJS.Signals>,
    Promise<NodeJS.Signals>,
  ];
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => take.shift()?.(signal));
  return { first, second };
}
