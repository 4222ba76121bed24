import { arrivalOf, type StartedAttempt } from '../core/answer/facts.ts';
import type { Answer } from '../core/answer/mapping.ts';
import type { AttemptContext, BatchEntry, Call, KeptCall } from '../core/call.ts';
import { Failure, Unfinished } from '../core/failure.ts';
import type { Step } from '../core/node.ts';
import type { Answers, BatchPart, FoundAnswer, HttpResponse, KeptQuestion, Ports } from '../core/ports.ts';
import { requestKey, requestText } from '../core/request-key.ts';
import type { ToolAnswer } from '../core/tools.ts';
import type { RunPhase } from './phase.ts';

export interface KeptCaller extends AttemptContext {
  readonly record: number;
  readonly node: string;
  readonly step: Step;
  /** See `KeptQuestion`. */
  readonly place: string;
  readonly isInPoll: boolean;
  /** For the caller of a batch: the questions of its records. */
  readonly parts?: readonly KeptQuestion[];
  readonly progress: { readonly hasBegun: boolean };
  /** True if a different row of the same record has failed. The whole record then fails, so this row makes no more calls. */
  isAbandoned(): boolean;
}

export interface AskedCall<Result> {
  readonly question: KeptQuestion | undefined;
  /** Undefined if the request must be sent. */
  readonly found?: { readonly result: Result };
}

/** `result` is undefined if the answer must be asked for. */
export interface AskedEntry<Result> {
  readonly question?: KeptQuestion;
  readonly result?: Promise<FoundResult<Result>>;
}

/** Undefined if the flow no longer accepts the kept answer. */
type FoundResult<Result> = { readonly result: Result } | undefined;

/** A record that waits for its part of the answer to an earlier batch. */
interface KeptReading {
  readonly entry: BatchEntry<unknown>;
  readonly caller: KeptCaller;
  readonly found: FoundAnswer;
  readonly part: BatchPart;
  readonly resolve: (found: FoundResult<never>) => void;
  readonly reject: (reason: unknown) => void;
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
  readonly #readings = new Map<number, KeptReading[]>();
  /** The batches of earlier runs that have been counted. */
  readonly #usedBatches = new Set<number>();

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
    this.#refuseUnwanted(caller);
    const question = questionOf(kept, caller, content);
    if (caller.parts) return { question };
    const found = this.#answers.find(question);
    if (found) {
      try {
        const result = await kept.restore(found, caller);
        this.#reportUsed(caller);
        return { question, found: { result } };
      } catch (error) {
        this.#forget([found], error);
      }
    }
    if (this.#answers.isReplay) throw noAnswer(requestText(kept.request));
    return { question };
  }

  /**
   * Looks for an answer to an earlier batch that had this entry. Which records share a batch depends on the order in which earlier answers
   * have arrived, so that the same batches might never be sent again. Throws as `ask` rejects.
   */
  askInBatch<Result>(entry: BatchEntry<Result>, caller: KeptCaller): AskedEntry<Result> {
    const { kept } = entry.batch.callFor([entry]);
    if (!kept) {
      if (this.#answers.isReplay) throw noAnswer(`the requests of ${caller.node}`);
      return {};
    }
    this.#refuseUnwanted(caller);
    const question = { ...questionOf(kept, caller, ''), isPart: true };
    const found = this.#answers.find(question);
    if (found?.part) return { question, result: this.#resultInBatch(entry, caller, found, found.part) };
    if (this.#answers.isReplay) throw noAnswer(requestText(kept.request));
    return { question };
  }

  /** Reads an answer for all of its records that ask in the same turn, because that takes as long as for one of them. */
  #resultInBatch<Result>(entry: BatchEntry<Result>, caller: KeptCaller, found: FoundAnswer, part: BatchPart): Promise<FoundResult<Result>> {
    let readings = this.#readings.get(part.of);
    // Several records can share a cached answer.
    if (!readings || readings.some((one) => one.part.position === part.position)) {
      readings = [];
      this.#readings.set(part.of, readings);
      void this.#readNextTurn(readings);
    }
    const waiting = readings;
    return new Promise((resolve, reject) => {
      waiting.push({ entry, caller, found, part, resolve, reject });
    });
  }

  async #readNextTurn(readings: readonly KeptReading[]): Promise<void> {
    await this.#ports.clock.nextTurn();
    const [{ entry, caller, found, part }] = readings as [KeptReading];
    if (this.#readings.get(part.of) === readings) this.#readings.delete(part.of);
    const entries: BatchEntry<unknown>[] = Array.from({ length: part.count }, () => entry);
    for (const one of readings) entries[one.part.position] = one.entry;
    try {
      const answer = await entry.batch.callFor(entries).kept?.restore(found, caller);
      const results = entry.batch.resultsOf(entries, answer as Answer);
      if (!this.#usedBatches.has(part.of)) this.#reportUsed(caller);
      this.#usedBatches.add(part.of);
      for (const one of readings) {
        const result = results[one.part.position];
        if (result instanceof Failure) one.reject(result);
        else one.resolve({ result: result as never });
      }
    } catch (error) {
      this.#settleUnread(readings, error);
    }
  }

  #settleUnread(readings: readonly KeptReading[], error: unknown): void {
    try {
      this.#forget(
        readings.map(({ found }) => found),
        error,
      );
      for (const { resolve } of readings) resolve(undefined);
    } catch (reason) {
      for (const { reject } of readings) reject(reason);
    }
  }

  #refuseUnwanted(caller: KeptCaller): void {
    if (caller.isAbandoned() || !this.#phase.wants(caller.record, caller.progress.hasBegun)) throw new Unfinished();
  }

  #reportUsed({ record, node }: KeptCaller): void {
    this.#ports.report({ type: 'answer-kept', record, node, as: 'used' });
  }

  /** The flow accepts other answers than it did, so the server is asked again, as after a refused answer. */
  #forget(answers: readonly FoundAnswer[], error: unknown): void {
    if (!(error instanceof Failure) || this.#answers.isReplay) throw error;
    for (const answer of answers) this.#answers.forget(answer);
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
  { step, record, node, place, isInPoll, parts }: KeptCaller,
  content: string,
): KeptQuestion {
  const { action } = step.node;
  const use = action?.cache ? 'always' : isInPoll ? 'last' : 'once';
  return { key: requestKey(request, step.type, action?.price.connection) + content, record, place, node, parts, use };
}

function filesOf({ request }: KeptCall<unknown>): readonly string[] {
  const form = 'form' in request ? request.form : undefined;
  return form?.flatMap((part) => ('file' in part ? [part.file] : [])) ?? [];
}

function noAnswer(request: string): Failure {
  return new Failure('network', `no answer is kept for ${request}`, { sent: false });
}
