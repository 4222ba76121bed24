import type { Server as HttpServer, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AppOptions } from './app.ts';
import type { Server } from './server.ts';
import { pathWithoutKeys } from './store/key-value.ts';

export interface EndingServer {
  readonly app: FastifyInstance;
  readonly server: Server;
  readonly answers: AnswersUnderWay;
}

/** The last part of the grace period in ms. It is reserved for saving the runs that were aborted. */
const savingMs = 1000;

/** Lets responses and calls finish, saves the runs, and responds to waiting clients. Aborts work after the grace period. */
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
  // Closes idle keep-alive connections, and connections whose response was aborted. They would keep the server open.
  app.server.closeAllConnections();
  await closed;
  server.shared.routes.destroy();
}

/** Aborts all responses, calls, runs and webhook messages that have not ended. */
export function giveUp(server: Server): void {
  server.runs.abort();
  server.calls.abort();
  server.deliveries.abort();
}

/** Lets the server wait for work only until a deadline, at which it calls `act`. */
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

export function watchSignals() {
  const take: ((signal: NodeJS.Signals) => void)[] = [];
  const [first, second] = [0, 1].map(() => new Promise<NodeJS.Signals>((resolve) => take.push(resolve))) as [
    Promise<NodeJS.Signals>,
    Promise<NodeJS.Signals>,
  ];
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => take.shift()?.(signal));
  return { first, second };
}

/** Responses that are not complete yet, including responses to uploads. */
export class AnswersUnderWay {
  readonly #answers = new Set<ServerResponse>();
  #settled = () => {};

  constructor(server: HttpServer) {
    server.on('request', (_, response) => {
      this.#answers.add(response);
      response.once('close', () => {
        this.#answers.delete(response);
        if (this.#answers.size === 0) this.#settled();
      });
    });
  }

  async settled(): Promise<void> {
    if (this.#answers.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
  }
}

/** Logs requests, without API keys, bodies, fields or queries. */
type RequestLog = Pick<AppOptions, 'answered' | 'bug'> & { flush(): void };

/** `write` receives all lines of one turn of the event loop at once. */
export function createLog(form: 'text' | 'json', write: (lines: string) => void): RequestLog {
  let lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) write(lines.join('\n'));
    lines = [];
  };
  const add = (line: string) => {
    if (lines.length === 0) setImmediate(flush);
    lines.push(line);
  };
  return {
    flush,
    answered(request, reply) {
      const entry = logEntry(request, reply);
      add(form === 'json' ? JSON.stringify(entry) : logLine(entry));
    },
    bug(error, request) {
      const stack = (error as Error)?.stack ?? String(error);
      add(
        form === 'json'
          ? JSON.stringify({ time: new Date().toISOString(), bug: stack, request: request.id })
          : `bug: ${request.id}: ${stack}`,
      );
    },
  };
}

type LogEntry = ReturnType<typeof logEntry>;

function logEntry(request: FastifyRequest, reply: FastifyReply) {
  return {
    time: new Date().toISOString(),
    method: request.method,
    path: pathWithoutKeys(request.url.split('?')[0] as string),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
    bytes: Number(reply.getHeader('content-length') ?? 0),
    key: request.key?.id ?? null,
    request: request.id,
  };
}

/** The path is percent-encoded, so it contains no line break. */
function logLine({ time, method, path, status, ms, bytes, key, request }: LogEntry): string {
  return `${time} ${method} ${path} ${status} ${ms} ms ${bytes} B ${key ?? '-'} ${request}`;
}
