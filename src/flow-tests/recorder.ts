import type { SentRequest } from '../core/action.ts';
import { errorOf, Failure } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { Cache, Clock, Http, HttpRequest, HttpResponse, Ports } from '../core/ports.ts';
import type { ToolAnswer, ToolCall, Tools } from '../core/tools.ts';
import { jsonOf } from '../core/value/value.ts';
import type { Gates } from '../engine/gates.ts';
import { startRun } from '../engine/run.ts';
import type { WiredPorts } from '../run/wire.ts';
import { createTestClock } from './test-clock.ts';
import { freeLedger } from './test-ports.ts';
import { TestOutput } from './test-run.ts';

/** The result of a request: a response, an answer from a tool, or a failure. */
export type Result = HttpResponse | ToolAnswer | Failure;

interface Recorded {
  readonly keys: RequestKeys;
  readonly result: Result;
  readonly ms: number;
}

/**
 * Records the requests sent through its ports (HTTP and tools) and their results. Afterwards, the same requests can be answered from the
 * recording.
 */
export class Recorder {
  /** The credits that the run has spent. */
  credits = 0;
  /** The record's final failure, after all retries; undefined if the record succeeded. */
  failure: Failure | undefined;
  readonly #recorded: Recorded[] = [];

  /** The number of requests recorded so far. */
  get requests(): number {
    return this.#recorded.length;
  }

  /** Runs a record through a flow while its requests are recorded. Throws an AutomateError if a limit ended the run. */
  async run(plan: Plan, item: Item, ports: WiredPorts, gates: Gates): Promise<void> {
    const input = (async function* () {
      yield [item];
    })();
    const output = new TestOutput();
    const parts = { input, output, ports: this.recording(ports), gates };
    const { phase, ended } = startRun(plan, parts, { unordered: false, maxErrors: undefined, keepsGoing: true });
    const ending = await ended;
    this.credits = ports.credits();
    this.failure = output.failures[0]?.failure;
    if (ending === 'complete' || ending === 'on-error-stop' || !phase.reason) return;
    throw errorOf(ending === 'refused-credential' ? 'credential' : 'credits', phase.reason);
  }

  /** Returns ports that record every request. They use no cache, so every request is really sent. */
  recording<Given extends Ports>(ports: Given): Given {
    const { http, tools } = ports;
    const { now } = ports.clock;
    const send: Http['send'] = (request) => this.#record(request, () => http.send(request), now);
    const call: Tools['call'] = (asked, progressed) => this.#record(asked, () => tools.call(asked, progressed), now);
    return { ...ports, http: { ...http, send }, tools: { ...tools, call }, cache: noCache };
  }

  /** Returns ports that answer every request with the recorded result. They send nothing, spend no credits, and skip all waits. */
  replaying<Given extends Ports>(ports: Given): Given {
    return { ...answering(ports, this.replay()), clock: createTestClock(), cache: noCache, ledger: freeLedger };
  }

  /**
   * Returns ports that answer every request with its last recorded result, as if all retries were over. Their clock advances only by the
   * recorded duration of each request.
   */
  replayingLast<Given extends Ports>(ports: Given): Given {
    let nowMs = 0;
    const lastOf = (request: SentRequest) => {
      const { whole, place } = keysOf(request);
      const last =
        this.#recorded.findLast(({ keys }) => keys.whole === whole) ?? this.#recorded.findLast(({ keys }) => keys.place === place);
      nowMs += last?.ms ?? 0;
      return last?.result;
    };
    return { ...answering(ports, lastOf), clock: { ...ports.clock, now: () => nowMs } };
  }

  /**
   * Returns a function that takes the recorded result of a request, for one replay. Results of identical requests are taken in order. If no
   * recorded request is identical, for example because it contained the time, the next result of the same method and path is taken.
   */
  replay(): (request: SentRequest) => Result | undefined {
    const left = [...this.#recorded];
    return (request) => {
      const { whole, place } = keysOf(request);
      const exact = left.findIndex(({ keys }) => keys.whole === whole);
      const index = exact < 0 ? left.findIndex(({ keys }) => keys.place === place) : exact;
      return index < 0 ? undefined : left.splice(index, 1)[0]?.result;
    };
  }

  async #record<Answer extends HttpResponse | ToolAnswer>(
    request: SentRequest,
    send: () => Promise<Answer>,
    now: Clock['now'],
  ): Promise<Answer> {
    const startedMs = now();
    const add = (result: Result) => void this.#recorded.push({ keys: keysOf(request), result, ms: now() - startedMs });
    try {
      const result = await send();
      add(result);
      return result;
    } catch (error) {
      if (error instanceof Failure) add(error);
      throw error;
    }
  }
}

/** Returns the ports, changed so that a function supplies the result of every request. */
function answering<Given extends Ports>(ports: Given, resultOf: (request: SentRequest) => Result | undefined): Given {
  const answer = async (request: SentRequest) => {
    const result = resultOf(request) ?? new Failure('request', 'the run did not send this request', { sent: false });
    if (result instanceof Failure) throw result;
    return result;
  };
  const send = (request: HttpRequest) => answer(request) as Promise<HttpResponse>;
  const call = (asked: ToolCall) => answer(asked) as Promise<ToolAnswer>;
  return { ...ports, http: { ...ports.http, send }, tools: { ...ports.tools, call } };
}

/** A cache that stores nothing, so every request is sent. */
const noCache: Cache = { through: (_key, _maxAgeMs, produce) => produce() };

/** The strings with which a request is found in the recording. */
interface RequestKeys {
  /** All parts of the request that are sent, as one string. */
  readonly whole: string;
  /** The method and path, or the tool. */
  readonly place: string;
}

function keysOf(request: SentRequest): RequestKeys {
  if ('kind' in request) {
    const place = `${request.connection.name} ${request.tool}`;
    return { place, whole: `${place} ${jsonOf(request.arguments)}` };
  }
  const { method, origin, path, body, form } = request;
  return {
    place: `${method} ${origin}${path.replace(/\?.*/s, '')}`,
    whole: `${method} ${origin}${path} ${body ?? ''} ${form ? JSON.stringify(form) : ''}`,
  };
}
