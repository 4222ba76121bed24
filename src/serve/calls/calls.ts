import type { GivenVariables } from '../../app/flow/flow-file.ts';
import { type CallUnderWay, FlowRuntime, type SharedParts } from '../../app/flow-runtime.ts';
import { type CodedMessage, detailsOf } from '../../core/error-code.ts';
import type { FailureReport } from '../../core/event.ts';
import { AutomateError, type Failure, FlowError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import type { LetInKey } from '../caller.ts';
import type { ServedFlow } from '../flows/flow-folder.ts';
import { problemJson } from '../flows/flow-json.ts';
import { Places } from '../keys/places.ts';
import { Problem } from '../problem.ts';

/** The answer of a call. */
export interface CallAnswer {
  /** JSON. */
  readonly text: string;
  readonly credits: number;
}

/** The request of a call. */
export interface CallRequest {
  readonly flow: ServedFlow;
  readonly fields: Fields;
  /** The variables of the flow that the request sets. */
  readonly given: GivenVariables;
  /** Compiles the flow with them. Rejects with a Problem. */
  plan(): Promise<Plan>;
  /** Absent for the page. */
  readonly key: LetInKey | undefined;
  /** The longest wait for its answer. */
  readonly waitMs: number;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}

/** Maximum of calls under way. */
const maxCalls = 256;

/** Maximum of runtimes that are kept for calls with variables of their own. */
const maxGiven = 64;

/** A runtime is opened again after this time: its secrets may have changed. */
const maxAgeMs = 60_000;

/** A runtime without a call gives back the credits that it holds after this time. */
const idleMs = 200;

/** The runtime of a flow that is open for calls. */
interface OpenRuntime {
  readonly flow: ServedFlow;
  readonly given: GivenVariables;
  readonly runtime: Promise<FlowRuntime>;
  readonly untilMs: number;
  calls: number;
  /** The timer after which a runtime without a call gives back its credits. */
  idle?: NodeJS.Timeout;
}

/** Takes the records and credits of a call. */
type CallListener = (key: LetInKey | undefined, work: { readonly records: number; readonly credits: number }) => void;

/** The calls of all flows. */
export class Calls {
  readonly #shared: SharedParts;
  readonly #now: () => number;
  readonly #paid: CallListener;
  readonly #runtimes = new Map<string, OpenRuntime>();
  readonly #closing = new Set<Promise<void>>();
  readonly #aborted = new AbortController();
  readonly #places = new Places({
    ...{ max: maxCalls, maxWaiting: maxCalls / 4, refusesLargest: true },
    full: () => new Problem('queue-full', `expected at most ${maxCalls} calls at once`, {}, { 'retry-after': '1' }),
  });

  /** `paid` takes the work of each call once the call has ended, even if it failed or was given up. */
  constructor(shared: SharedParts, now: () => number, paid: CallListener) {
    this.#shared = shared;
    this.#now = now;
    this.#paid = paid;
  }

  /** Runs one record through a flow. Throws a Problem. */
  answer(request: CallRequest): Promise<CallAnswer> {
    const { key, waitMs } = request;
    const gone = AbortSignal.any([request.gone, this.#aborted.signal]);
    return this.#places.within({ owner: key?.id ?? '', gone, waitMs }, () => this.#answer(request));
  }

  async #answer(request: CallRequest): Promise<CallAnswer> {
    const open = this.#runtimeOf(request);
    open.calls++;
    clearTimeout(open.idle);
    try {
      const runtime = await open.runtime.catch(asProblem(request.flow));
      const call = startCall(runtime, request.fields);
      const count = () => this.#paid(request.key, { records: isUnpaid(call) ? 0 : 1, credits: call.credits() });
      call.run.ended.then(count, count);
      await this.#ended(call, request);
      return answerText(call, runtime, request);
    } finally {
      open.calls--;
      this.#giveBackLater(open);
      this.#forgetOld();
    }
  }

  /** Gives up the calls under way. */
  abort(): void {
    this.#aborted.abort();
  }

  /** Waits for the calls under way and closes the runtimes. */
  async close(): Promise<void> {
    for (const open of this.#runtimes.values()) this.#close(open);
    this.#runtimes.clear();
    await Promise.all(this.#closing);
  }

  async #ended({ run }: CallUnderWay, { waitMs, gone, flow }: CallRequest): Promise<void> {
    const giveUp = (message: string) => run.phase.advance('stopped', { ending: 'interrupted', message });
    const left = () => giveUp('the client has gone');
    const stopped = () => giveUp('the server stopped');
    gone.addEventListener('abort', left, { once: true });
    this.#aborted.signal.addEventListener('abort', stopped, { once: true });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        giveUp('it took too long');
        reject(new Problem('call-timeout', `${flow.id} took more than ${waitMs / 1000} s; what was sent is paid`));
      }, waitMs);
    });
    try {
      await Promise.race([run.ended.catch(asProblem(flow)), late]);
    } finally {
      clearTimeout(timer);
      gone.removeEventListener('abort', left);
      this.#aborted.signal.removeEventListener('abort', stopped);
      run.ended.catch(() => undefined);
    }
  }

  #runtimeOf({ flow, given, plan, key }: CallRequest): OpenRuntime {
    const name = `${key?.id ?? ''} ${flow.id} ${given.length > 0 ? JSON.stringify(given) : ''}`;
    const found = this.#runtimes.get(name);
    if (found && found.flow === flow && this.#now() < found.untilMs) return found;
    if (found) this.#close(found);
    if (given.length > 0) this.#forgetOtherGiven();
    const runtime = plan().then((found) => FlowRuntime.open(found, flow.path, this.#shared, key));
    const open: OpenRuntime = { flow, given, runtime, untilMs: this.#now() + maxAgeMs, calls: 0 };
    this.#runtimes.set(name, open);
    runtime.catch(() => this.#runtimes.get(name) === open && this.#runtimes.delete(name));
    return open;
  }

  #giveBackLater(open: OpenRuntime): void {
    if (open.calls > 0) return;
    open.idle = setTimeout(() => {
      const runtime = open.runtime.catch(() => undefined);
      const given = runtime.then((opened) => (open.calls === 0 ? opened?.giveBack() : undefined));
      given.catch((error: unknown) => this.#shared.say((error as Error).message));
    }, idleMs);
    open.idle.unref();
  }

  #forgetOld(): void {
    for (const [name, open] of this.#runtimes) {
      if (open.calls > 0 || this.#now() < open.untilMs) continue;
      this.#runtimes.delete(name);
      this.#close(open);
    }
  }

  /** Closes the oldest runtime without a call if a caller's values would leave too many open. */
  #forgetOtherGiven(): void {
    const some = [...this.#runtimes].filter(([, open]) => open.given.length > 0);
    const oldest = some.length < maxGiven ? undefined : some.find(([, { calls }]) => calls === 0);
    if (!oldest) return;
    this.#runtimes.delete(oldest[0]);
    this.#close(oldest[1]);
  }

  /** Closes a runtime once its calls have ended. */
  #close(open: OpenRuntime): void {
    const closed = this.#closed(open)
      .catch((error: unknown) => this.#shared.say((error as Error).message))
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  async #closed(open: OpenRuntime): Promise<void> {
    while (open.calls > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    await (await open.runtime.catch(() => undefined))?.close();
  }
}

/** The plan of a flow. Throws a Problem (`flow-invalid`). */
export function validPlan({ id, plan, problems, path }: ServedFlow) {
  if (plan) return plan;
  throw new Problem('flow-invalid', `${id} is not valid`, { errors: problems.map((problem) => problemJson(problem, path)) });
}

function startCall(runtime: FlowRuntime, fields: Fields): CallUnderWay {
  try {
    return runtime.call(fields);
  } catch (error) {
    throw error instanceof AutomateError && error.kind === 'credits' ? creditsProblem(error) : error;
  }
}

/** True for a call that ended without an outcome, because no credits were left: its record is not counted. */
function isUnpaid({ run, output }: CallUnderWay): boolean {
  return output.outcome === undefined && run.phase.reason?.ending === 'max-credits';
}

/** The problem of credits that are used up. */
export function creditsProblem({ message, code }: CodedMessage): Problem {
  const now = new Date();
  const resetsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
  return new Problem('credits-used-up', message, { of: code === 'quota' ? 'key' : 'allowance', resets_at: resetsAt });
}

/** Throws an error of a whole run as a Problem. */
export function asProblem(flow: Pick<ServedFlow, 'id' | 'path'>): (error: unknown) => never {
  return (error) => {
    if (error instanceof FlowError && error.kind === 'credential') throw credentialProblem(error, flow);
    if (error instanceof FlowError)
      throw new Problem('flow-invalid', `${flow.id} is not valid`, { errors: error.problems.map((one) => problemJson(one, flow.path)) });
    if (!(error instanceof AutomateError)) throw error;
    if (error.kind === 'credential') throw credentialProblem(error, flow);
    if (error.kind === 'credits') throw creditsProblem(error);
    if (error.kind === 'output') throw new Problem('disk-full', 'the server cannot write what it has to keep');
    throw error;
  };
}

function credentialProblem(error: CodedMessage, { id }: Pick<ServedFlow, 'id'>): Problem {
  const problems = error instanceof FlowError ? error.problems : [error];
  const [first] = problems.flatMap((problem) => detailsOf(problem, 'credential') ?? []);
  const credential = first?.credential ?? null;
  const detail = `${id} needs a credential that is missing or refused`;
  return new Problem('credential-missing', detail, { credential }, { 'retry-after': '60' });
}

const json = createWriter({ kind: 'ndjson', gzip: false }, undefined);

function answerText({ run, output, credits }: CallUnderWay, { redactor }: FlowRuntime, { flow }: CallRequest): CallAnswer {
  const { outcome } = output;
  if (!outcome) {
    const reason = run.phase.reason;
    if (reason?.ending === 'max-credits') throw creditsProblem(reason);
    if (reason?.ending === 'refused-credential') throw credentialProblem(reason, flow);
    if (reason?.ending === 'on-error-stop') throw failedProblem({ message: redactor.text(reason.message) }, credits());
    if (credits() > 0) throw new Problem('call-timeout', `${flow.id} did not finish: ${reason?.message}; what was sent is paid`);
    throw new Problem('stopping', `${flow.id} did not finish: ${reason?.message ?? 'it was stopped'}`, {}, { 'retry-after': '1' });
  }
  if ('failure' in outcome) throw failureProblem(outcome.failure, redactor, credits());
  const records = output.rows.map((row) => json.write([row], false).trimEnd());
  return { text: redactor.json(`{"records":[${records.join(',')}],"credits":${credits()}}`), credits: credits() };
}

/** The problem of a record that failed. */
export function failureProblem({ node, kind, status, message, attempts }: Failure, redactor: Redactor, credits: number): Problem {
  return failedProblem({ node, class: kind, status, message: redactor.text(message), attempts }, credits);
}

function failedProblem(failure: Partial<FailureReport> & { readonly message: string }, credits: number): Problem {
  const { node = null, class: kind = null, status = null, message, attempts = null } = failure;
  return new Problem('record-failed', message, { error: { node, class: kind, status, message, attempts }, credits });
}
