import { arrivalOf, type StartedAttempt } from '../core/answer/facts.ts';
import { requestKey, requestText } from '../core/answers.ts';
import type { AttemptContext, Call, KeptCall } from '../core/call.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Step } from '../core/node.ts';
import type { Answers, HttpResponse, KeptQuestion, Ports } from '../core/ports.ts';
import type { ToolAnswer } from '../core/tools.ts';
import type { RunPhase } from './phase.ts';

/** The record that makes a call. */
export interface KeptCaller extends AttemptContext {
  readonly record: number;
  readonly node: string;
  readonly step: Step;
  /** See `KeptQuestion`. */
  readonly place: string;
  readonly isInPoll: boolean;
  /** See `KeptQuestion`. */
  readonly records?: readonly number[];
  readonly progress: { readonly hasBegun: boolean };
  /** True if a different row of the same record has failed. The whole record then fails, so this row makes no more calls. */
  isAbandoned(): boolean;
}

/** A call in a run with kept answers. */
export interface AskedCall<Result> {
  /** Undefined if the answer is not kept. */
  readonly question: KeptQuestion | undefined;
  /** Undefined if the request must be sent. */
  readonly found?: { readonly result: Result };
}

interface AnsweredCall {
  readonly call: Call<unknown>;
  readonly result: unknown;
  readonly caller: KeptCaller;
  /** The answer from the cache; undefined if the call was made. */
  readonly response?: HttpResponse | ToolAnswer;
  /** The attempt that brought the answer, and the time at which that ended in monotonic ms. Undefined for an answer from the cache. */
  readonly attempt?: StartedAttempt;
  readonly atMs?: number;
}

/** Gives calls the answers that earlier runs have kept, and keeps the new ones. */
export class KeptCalls {
  readonly #answers: Answers;
  readonly #ports: Ports;
  readonly #phase: RunPhase;

  constructor(answers: Answers, ports: Ports, phase: RunPhase) {
    this.#answers = answers;
    this.#ports = ports;
    this.#phase = phase;
  }

  /** Rejects with a Failure if the run sends nothing and no answer is kept, and with Unfinished if the run ends first. */
  async ask<Result>({ kept }: Call<Result>, caller: KeptCaller): Promise<AskedCall<Result>> {
    if (!kept) {
      if (this.#answers.isReplay) throw noAnswer(`the requests of ${caller.node}`);
      return { question: undefined };
    }
    const files = filesOf(kept);
    const content = files.length === 0 ? '' : `\nfiles ${await this.#answers.contentOf(files)}`;
    const turn = this.#ports.clock.yieldIfLong();
    if (turn) await turn;
    if (caller.isAbandoned() || !this.#phase.wants(caller.record, caller.progress.hasBegun)) throw new Unfinished();
    const question = questionOf(kept, caller, content);
    const found = this.#answers.find(question);
    if (found) {
      try {
        const result = await kept.restore(found, caller);
        this.#ports.report({ type: 'answer-kept', record: caller.record, node: caller.node, as: 'used' });
        return { question, found: { result } };
      } catch (error) {
        if (!(error instanceof Failure) || this.#answers.isReplay) throw error;
        // The flow accepts other answers than it did, so the server is asked again, as after a refused answer.
        this.#answers.forget(found);
      }
    }
    if (this.#answers.isReplay) throw noAnswer(requestText(kept.request));
    return { question };
  }

  keep(question: KeptQuestion, { call, result, caller, response = call.kept?.response(), attempt, atMs }: AnsweredCall): void {
    if (!response) return;
    const extra = call.kept?.extra?.(result);
    const made = attempt && arrivalOf(attempt, this.#ports.clock, atMs);
    const arrival = { atMs: this.#ports.clock.wallNow(), ms: 0, attempts: 1, ...made, ...response.arrival };
    const as = this.#answers.keep(question, { response, arrival, extra });
    if (as) this.#ports.report({ type: 'answer-kept', record: caller.record, node: caller.node, as });
  }
}

function questionOf(
  { request }: KeptCall<unknown>,
  { step, record, node, place, isInPoll, records }: KeptCaller,
  content: string,
): KeptQuestion {
  const { action } = step.node;
  const use = action?.cache ? 'always' : isInPoll ? 'last' : 'once';
  return { key: requestKey(request, step.type, action?.price.connection) + content, record, place, node, records, use };
}

function filesOf({ request }: KeptCall<unknown>): readonly string[] {
  const form = 'form' in request ? request.form : undefined;
  return form?.flatMap((part) => ('file' in part ? [part.file] : [])) ?? [];
}

function noAnswer(request: string): Failure {
  return new Failure('network', `no answer is kept for ${request}`, { sent: false });
}
