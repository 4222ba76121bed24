import { type CodedMessage, detailsOf } from '../core/error-code.ts';
import { AutomateError, type Failure, FlowError } from '../core/failure.ts';
import type { Redactor } from '../credentials/redact.ts';
import { type CallFailure, type CallListener, type CallResult, type FlowCall, FlowCalls } from '../run/flow-calls.ts';
import type { ServedFlow } from '../run/flow-folder.ts';
import type { SharedParts } from '../run/flow-runtime.ts';
import type { LetInKey } from './caller.ts';
import { problemJson } from './flow-json.ts';
import { RequestSlots } from './keys/request-slots.ts';
import { ProblemResponse } from './problem.ts';

interface CallAnswer {
  readonly text: string;
  readonly credits: number;
}

type CallRequest = FlowCall<LetInKey> & {
  readonly waitMs: number;
};

const maxCalls = 256;

/** Runs the calls of clients to all flows, and limits how many are processed at the same time. */
export class ServedCalls {
  readonly #calls: FlowCalls<LetInKey>;
  readonly #places = new RequestSlots({
    ...{ max: maxCalls, maxWaiting: maxCalls / 4, refusesLargest: true },
    full: () => new ProblemResponse('queue-full', `expected at most ${maxCalls} calls at once`, {}, { 'retry-after': '1' }),
  });

  /** `paid` receives the records and credits of each call when the call ends, even if it failed or was aborted. */
  constructor(shared: SharedParts, now: () => number, paid: CallListener<LetInKey>) {
    this.#calls = new FlowCalls(shared, now, paid);
  }

  async answer(request: CallRequest): Promise<CallAnswer> {
    return callAnswerOf(await this.run(request), request.flow);
  }

  /** Returns the result even if the record failed. Throws a Problem for an error that would affect other records, too. */
  run(request: CallRequest): Promise<CallResult> {
    const { key, waitMs, flow } = request;
    const gone = AbortSignal.any([request.gone, this.#calls.aborted]);
    return this.#places.within({ owner: key?.id ?? '', gone, waitMs }, () => this.#calls.run(request).catch(asProblem(flow)));
  }

  abort(): void {
    this.#calls.abort();
  }

  close(): Promise<void> {
    return this.#calls.close();
  }
}

function callAnswerOf(result: CallResult, { id }: ServedFlow): CallAnswer {
  switch (result.kind) {
    case 'done':
      return { text: `{"records":${result.rows},"credits":${result.credits}}`, credits: result.credits };
    case 'failed':
      throw failedProblem(result.failure, result.credits);
    case 'unpaid':
      throw creditsProblem(result.reason);
    case 'late':
      throw new ProblemResponse(
        'call-timeout',
        `${id} took more than ${result.waitMs / 1000} s; the requests already sent still cost credits`,
      );
    case 'stopped': {
      const { why, credits } = result;
      if (credits > 0)
        throw new ProblemResponse('call-timeout', `${id} did not finish: ${why}; the requests already sent still cost credits`);
      throw new ProblemResponse('stopping', `${id} did not finish: ${why ?? 'it was stopped'}`, {}, { 'retry-after': '1' });
    }
  }
}

export function validPlan({ id, plan, problems, path }: ServedFlow) {
  if (plan) return plan;
  throw new ProblemResponse('flow-invalid', `${id} is not valid`, { errors: problems.map((problem) => problemJson(problem, path)) });
}

export function creditsProblem({ message, code }: CodedMessage): ProblemResponse {
  const now = new Date();
  const resetsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
  return new ProblemResponse('credits-used-up', message, { of: code === 'quota' ? 'key' : 'allowance', resets_at: resetsAt });
}

/** Returns a function that throws the Problem for an error that would affect other records, too. */
export function asProblem(flow: Pick<ServedFlow, 'id' | 'path'>): (error: unknown) => never {
  return (error) => {
    if (error instanceof FlowError && error.kind === 'credential') throw credentialProblem(error, flow);
    if (error instanceof FlowError)
      throw new ProblemResponse('flow-invalid', `${flow.id} is not valid`, {
        errors: error.problems.map((one) => problemJson(one, flow.path)),
      });
    if (!(error instanceof AutomateError)) throw error;
    if (error.kind === 'credential') throw credentialProblem(error, flow);
    if (error.kind === 'credits') throw creditsProblem(error);
    if (error.kind === 'output') throw new ProblemResponse('disk-full', 'the server cannot write its files');
    throw error;
  };
}

function credentialProblem(error: CodedMessage, { id }: Pick<ServedFlow, 'id'>): ProblemResponse {
  const problems = error instanceof FlowError ? error.problems : [error];
  const [first] = problems.flatMap((problem) => detailsOf(problem, 'credential') ?? []);
  const credential = first?.credential ?? null;
  const detail = `${id} needs a credential that is missing or refused`;
  return new ProblemResponse('credential-missing', detail, { credential }, { 'retry-after': '60' });
}

export function failureProblem({ node, kind, status, message, attempts }: Failure, redactor: Redactor, credits: number): ProblemResponse {
  return failedProblem({ node, class: kind, status, message: redactor.text(message), attempts }, credits);
}

function failedProblem(failure: CallFailure, credits: number): ProblemResponse {
  const { node = null, class: kind = null, status = null, message, attempts = null } = failure;
  return new ProblemResponse('record-failed', message, { error: { node, class: kind, status, message, attempts }, credits });
}
