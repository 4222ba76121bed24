import { randomBytes } from 'node:crypto';
import { isPiece, type ResultForm } from '../processes/wire-form.ts';
import { type HeldCredits, type HeldMoney, type Results, RunLink } from '../run-link.ts';
import type { QueueRedis } from './connection.ts';
import { keptSeconds, type RunKeys } from './queue-keys.ts';
import { type Consent, type QueueAnswer, type QueueNews, type QueueQuestion, readReply } from './queue-message.ts';
import { sendScript } from './run-scripts.ts';
import type { Seal } from './seal.ts';

/** A worker repeats a question in this interval, because Redis may have lost the question or the answer. */
const askAgainMs = 3000;

/** Delay in ms before a message is sent again because too many messages were waiting or the run did not exist. */
const sendAgainMs = 250;

/** Attempts to send to a run that is missing in Redis. Its coordinator may be about to store it again. */
const maxVain = 24;

interface QueueLinkOptions {
  readonly redis: QueueRedis;
  readonly keys: RunKeys;
  readonly seal: Seal;
  readonly run: string;
  readonly gen: string;
  readonly worker: string;
  /** The input number of the record; undefined if the number is unknown. */
  numberOf(unit: number, index: number): number | undefined;
  /** Called after a message was sent, with the results in it. If a message contains only a piece of a result, that result is left out. */
  sent(results: readonly ResultForm[]): void;
  /** Called if a message cannot be sent because of an unexpected error. */
  failed(error: unknown): void;
}

/** Messages go through Redis and arrive in the order in which they were sent. */
export class QueueLink extends RunLink {
  readonly #options: QueueLinkOptions;
  /** Identifies this link. Every answer of the coordinator contains it, so nobody can have recorded the answer before. */
  readonly #nonce = randomBytes(16).toString('base64url');
  readonly #questions = new Map<number, { readonly question: QueueQuestion; resolve(value: unknown): void }>();
  #lastQuestion = 0;
  #seq = 0;
  #sending: Promise<void> = Promise.resolve();
  #joinAgainMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: QueueLinkOptions) {
    super();
    this.#options = options;
  }

  protected deliver({ reports, results }: Results): Promise<void> {
    const numbers = results.map(([unit, index]) => this.#options.numberOf(unit, index) ?? 0);
    return this.say({ kind: 'results', reports, results, numbers }, results);
  }

  protected ask(question: QueueQuestion): Promise<unknown> {
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

  /** Asks which records of a unit this worker may process. Undefined if `dropBegins` is called before the answer arrives. */
  async mayBegin(unit: number): Promise<Consent | undefined> {
    return (await this.ask({ kind: 'begin', unit })) as Consent | undefined;
  }

  /** Stops waiting for the coordinator's consent to units, because this worker begins no more units at present. */
  dropBegins(): void {
    for (const [id, { question, resolve }] of this.#questions) {
      if (question.kind !== 'begin') continue;
      this.#questions.delete(id);
      resolve(undefined);
    }
  }

  /** Asks the coordinator for its welcome. Has no effect if it was asked a moment ago, so it may be called again until the welcome arrives. */
  join(nowMs: number): void {
    if (nowMs < this.#joinAgainMs) return;
    this.#joinAgainMs = nowMs + askAgainMs;
    void this.say({ kind: 'join' });
  }

  accepts({ gen, nonce }: QueueAnswer): boolean {
    return gen === this.#options.gen && nonce === this.#nonce;
  }

  answered(id: number, value: unknown): void {
    const open = this.#questions.get(id);
    const reply = open && readReply(open.question, value);
    if (!open || (reply === undefined && value !== undefined)) return;
    open.resolve(reply);
    this.#questions.delete(id);
  }

  /** Keeps the order of messages. Resolves once Redis has received the message, or once it is clear that the run no longer exists. */
  say(news: QueueNews, results: readonly ResultForm[] = []): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send(news, results)).catch((error: unknown) => this.#options.failed(error));
    return this.#sending;
  }

  /** Answers all open questions with a refusal, because no coordinator will answer them. */
  close(): void {
    this.#isClosed = true;
    for (const { question, resolve } of this.#questions.values()) resolve(refusalWithoutRun(question));
    this.#questions.clear();
  }

  async #send(news: QueueNews, results: readonly ResultForm[]): Promise<void> {
    const { redis, keys, seal, run, gen, worker, sent } = this.#options;
    const text = JSON.stringify({ ...news, worker, gen, nonce: this.#nonce, seq: ++this.#seq });
    const message = seal.seal(text, `${run} results`);
    for (let vain = 0; vain < maxVain; ) {
      const answer = await redis.insist(() => redis.client.eval(sendScript, 2, keys.run, keys.results, message, keys.more, keptSeconds));
      if (answer === 1) break;
      if (answer === 0) vain++;
      await new Promise((resolve) => setTimeout(resolve, sendAgainMs));
    }
    sent(results.filter((form) => !isPiece(form)));
  }
}

/** The worker then does not make the call, because the run continues without this worker. */
function refusalWithoutRun({ kind }: QueueQuestion): HeldCredits | HeldMoney | Consent {
  if (kind === 'begin') return [];
  if (kind === 'hold-money') return { held: 'used-up', total: 0 };
  return { calls: 0, refusal: { message: 'the run has continued without this worker' }, left: 0 };
}
