import type { CodedMessage } from '../../core/error-code.ts';
import type { Event, FailureReport } from '../../core/event.ts';
import { AutomateError, errorOf } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import type { CallUnderWay, FlowRuntime, SharedParts } from '../flow-runtime.ts';
import { type RuntimeRequest, Runtimes } from './runtimes.ts';

/** One record for a flow. */
export interface FlowCall<Key extends PayingKey = PayingKey> extends RuntimeRequest {
  readonly fields: Fields;
  readonly key: Key | undefined;
  /** The longest wait for its rows; undefined for no limit. */
  readonly waitMs: number | undefined;
  /** Aborted when the caller no longer waits for the rows: the requests of the call end. */
  readonly gone: AbortSignal;
  /** Takes what happens in the call. Undefined if the caller does not watch it. `redactor`: masks the secrets of the flow. */
  readonly report?: ((event: Event, redactor: Redactor) => void) | undefined;
}

/** The failure of a call's record, with its secrets masked. */
export type CallFailure = Partial<Pick<FailureReport, 'node' | 'class' | 'status' | 'attempts'>> & { readonly message: string };

/** The result of a call. */
export type CallResult =
  /** `rows`: a list as JSON text; numbers have their digits, secrets are masked. */
  | { readonly kind: 'done'; readonly rows: string; readonly credits: number }
  | { readonly kind: 'failed'; readonly failure: CallFailure; readonly credits: number }
  /** No credits were left. */
  | { readonly kind: 'unpaid'; readonly reason: CodedMessage }
  | { readonly kind: 'late'; readonly waitMs: number }
  /** The call was given up. `why`: undefined if nothing is known. */
  | { readonly kind: 'stopped'; readonly why: string | undefined; readonly credits: number };

/** Takes the records and credits of a call. */
export type CallListener<Key> = (key: Key | undefined, work: { readonly records: number; readonly credits: number }) => void;

/** Runs single records through flows. */
export class FlowCalls<Key extends PayingKey = PayingKey> {
  readonly #runtimes: Runtimes;
  readonly #paid: CallListener<Key>;
  readonly #aborted = new AbortController();

  /** `paid` takes the work of each call once the call has ended, even if it failed or was given up. */
  constructor(shared: SharedParts, now: () => number, paid: CallListener<Key> = () => undefined) {
    this.#runtimes = new Runtimes(shared, now);
    this.#paid = paid;
  }

  /** Aborted once all calls are given up. */
  get aborted(): AbortSignal {
    return this.#aborted.signal;
  }

  /** Runs one record through a flow. Throws an error that is no record's, such as one of a missing credential. */
  run(request: FlowCall<Key>): Promise<CallResult> {
    return this.#runtimes.within(request, (runtime) => this.#call(request, runtime));
  }

  /** Gives up the calls under way. */
  abort(): void {
    this.#aborted.abort();
  }

  /** Waits for the calls under way and closes the runtimes. */
  close(): Promise<void> {
    return this.#runtimes.close();
  }

  async #call(request: FlowCall<Key>, runtime: FlowRuntime): Promise<CallResult> {
    const { report, fields, key } = request;
    const { redactor } = runtime;
    let call: CallUnderWay;
    try {
      call = runtime.call(fields, report && ((event) => report(event, redactor)));
    } catch (error) {
      if (error instanceof AutomateError && error.kind === 'credits') return { kind: 'unpaid', reason: error };
      throw error;
    }
    const count = () => this.#paid(key, { records: endedUnpaid(call) ? 0 : 1, credits: call.credits() });
    call.run.ended.then(count, count);
    const late = await this.#ended(call, request);
    return late ?? callResultOf(call, redactor);
  }

  /** Waits for the end of a call. Returns its result if it took too long. */
  async #ended({ run }: CallUnderWay, { waitMs, gone }: FlowCall<Key>): Promise<CallResult | undefined> {
    const giveUp = (message: string) => run.phase.advance('stopped', { ending: 'interrupted', message });
    const left = () => giveUp('the client has gone');
    const stopped = () => giveUp('the server stopped');
    gone.addEventListener('abort', left, { once: true });
    this.aborted.addEventListener('abort', stopped, { once: true });
    if (gone.aborted) left();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<CallResult>((resolve) => {
      if (waitMs === undefined) return;
      timer = setTimeout(() => {
        giveUp('it took too long');
        resolve({ kind: 'late', waitMs });
      }, waitMs);
    });
    try {
      return await Promise.race([run.ended.then(() => undefined), late]);
    } finally {
      clearTimeout(timer);
      gone.removeEventListener('abort', left);
      this.aborted.removeEventListener('abort', stopped);
      run.ended.catch(() => undefined);
    }
  }
}

/** True for a call that ended without an outcome, because no credits were left: its record is not counted. */
function endedUnpaid({ run, output }: CallUnderWay): boolean {
  return output.outcome === undefined && run.phase.reason?.ending === 'max-credits';
}

const json = createWriter({ kind: 'ndjson', gzip: false }, undefined);

function callResultOf({ run, output, credits }: CallUnderWay, redactor: Redactor): CallResult {
  const { outcome } = output;
  if (!outcome) {
    const reason = run.phase.reason;
    if (reason?.ending === 'max-credits') return { kind: 'unpaid', reason };
    if (reason?.ending === 'refused-credential') throw errorOf('credential', reason);
    if (reason?.ending === 'on-error-stop')
      return { kind: 'failed', failure: { message: redactor.text(reason.message) }, credits: credits() };
    return { kind: 'stopped', why: reason?.message, credits: credits() };
  }
  if ('failure' in outcome) {
    const { node, kind, status, message, attempts } = outcome.failure;
    return { kind: 'failed', failure: { node, class: kind, status, message: redactor.text(message), attempts }, credits: credits() };
  }
  const rows = output.rows.map((row) => json.write([row], false).trimEnd());
  return { kind: 'done', rows: redactor.json(`[${rows.join(',')}]`), credits: credits() };
}
