import type { HeldMoney, PaidCalls } from '../../core/workers/workers.ts';
import type { Carrier, Results } from '../workers/run-reports.ts';
import type { Question, ResultForm } from '../workers/wire-form.ts';
import type { QueueRedis } from './connection.ts';
import { keptSeconds, type RunKeys } from './queue-keys.ts';
import type { QueueNews } from './queue-message.ts';
import { sendScript } from './run-scripts.ts';
import type { Seal } from './seal.ts';

/** A question is asked again after this time: Redis may have lost it, or its answer. */
const askAgainMs = 3000;

/** A message that finds too many others, or no run, is sent again after this time. */
const sendAgainMs = 250;

/** The times that a message is sent to a run that is not there. Its coordinator may be about to put everything again. */
const maxVain = 24;

/** The settings of a link to a run. */
export interface QueueLinkOptions {
  readonly redis: QueueRedis;
  readonly keys: RunKeys;
  readonly seal: Seal;
  readonly run: string;
  readonly gen: string;
  /** The id of the worker. */
  readonly worker: string;
  /** The number of the record of a result. */
  numberOf(unit: number, index: number): number | undefined;
  /** Takes the results that Redis has: they are marked. */
  sent(results: readonly ResultForm[]): void;
}

/** A worker's link to a run over Redis. Messages arrive in their order. */
export class QueueLink implements Carrier {
  readonly #options: QueueLinkOptions;
  readonly #questions = new Map<number, OpenQuestion>();
  #lastQuestion = 0;
  #seq = 0;
  #sending: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: QueueLinkOptions) {
    this.#options = options;
  }

  deliver({ reports, results }: Results): Promise<void> {
    const numbers = results.map(([unit, index]) => this.#options.numberOf(unit, index) ?? 0);
    return this.say({ kind: 'results', reports, results, numbers }, results);
  }

  ask(question: Question): Promise<unknown> {
    const id = ++this.#lastQuestion;
    if (this.#isClosed) return Promise.resolve(refusalWithoutRun(question));
    return new Promise((resolve) => {
      this.#questions.set(id, { question, resolve });
      const again = setInterval(() => {
        if (!this.#questions.has(id) || this.#isClosed) return clearInterval(again);
        void this.say({ kind: 'question', id, question });
      }, askAgainMs);
      void this.say({ kind: 'question', id, question });
    });
  }

  /** Takes the answer to a question. */
  answered(id: number, value: unknown): void {
    this.#questions.get(id)?.resolve(value);
    this.#questions.delete(id);
  }

  /** Sends a message after those before it. Resolves once Redis has it, or nobody wants it any more. */
  say(news: QueueNews, results: readonly ResultForm[] = []): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send(news, results));
    return this.#sending;
  }

  /** Asks nothing any more: nobody answers. */
  close(): void {
    this.#isClosed = true;
    for (const { question, resolve } of this.#questions.values()) resolve(refusalWithoutRun(question));
    this.#questions.clear();
  }

  async #send(news: QueueNews, results: readonly ResultForm[]): Promise<void> {
    const { redis, keys, seal, run, gen, worker, sent } = this.#options;
    const text = JSON.stringify({ ...news, worker, gen, seq: ++this.#seq });
    const message = seal.seal(text, `${run} results`);
    const places = placesOf(results);
    const marks = [...places.keys()].map((unit) => keys.done(`${gen}-${unit}`));
    const unitArgs = [...places].flatMap(([unit, indexes]) => [`${gen}-${unit}`, indexes.length, ...indexes]);
    const all = [keys.run, keys.results, keys.starts, ...marks];
    for (let vain = 0; vain < maxVain; ) {
      const args = [message, keys.more, keptSeconds, gen, ...unitArgs];
      const answer = await redis.insist(() => redis.client.eval(sendScript, all.length, ...all, ...args));
      if (answer === 1) break;
      if (answer === 0) vain++;
      await new Promise((resolve) => setTimeout(resolve, sendAgainMs));
    }
    sent(results);
  }
}

/** A question without an answer. */
interface OpenQuestion {
  readonly question: Question;
  resolve(value: unknown): void;
}

/** The answer for a call of a run that has gone on elsewhere: it is not made. */
function refusalWithoutRun({ kind }: Question): PaidCalls | HeldMoney {
  if (kind === 'hold-money') return { held: 'used-up', total: 0 };
  return { calls: 0, refusal: { message: 'the run has gone on without this worker' }, left: 0 };
}

/** The places of results, by unit. */
function placesOf(results: readonly ResultForm[]): Map<number, number[]> {
  const places = new Map<number, number[]>();
  for (const [unit, index] of results) {
    const found = places.get(unit);
    if (found) found.push(index);
    else places.set(unit, [index]);
  }
  return places;
}
