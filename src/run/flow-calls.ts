import { setMaxListeners } from 'node:events';
import type { CodedMessage } from '../core/error-code.ts';
import type { Event, FailureReport } from '../core/event.ts';
import { AutomateError, errorOf } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';
import type { Redactor } from '../credentials/redact.ts';
import type { PayingKey } from '../credits/rest.ts';
import { formats } from '../records/formats.ts';
import type { CallUnderWay, FlowRuntime, SharedParts } from './flow-runtime.ts';
import { type RuntimeRequest, Runtimes } from './runtimes.ts';

/** A call that runs one record through a flow for a client, as opposed to a run over a whole input. */
export interface FlowCall<Key extends PayingKey = PayingKey> extends RuntimeRequest {
  readonly fields: Fields;
  readonly key: Key | undefined;
  /** Maximum wait for the resulting rows; undefined for no limit. */
  readonly waitMs: number | undefined;
  /** Aborted when the caller stops waiting, so that the call's open requests are aborted, too. */
  readonly gone: AbortSignal;
  readonly report?: (event: Event, redactor: Redactor) => void;
}

/** Describes why the record of a call failed, with secrets masked. */
export type CallFailure = Partial<Pick<FailureReport, 'node' | 'class' | 'status' | 'attempts'>> & { readonly message: string };

export type CallResult =
  /** `rows` is the list of resulting rows as JSON text. Its numbers keep all their digits, and secrets are masked. */
  | { readonly kind: 'done'; readonly rows: string; readonly credits: number }
  | { readonly kind: 'failed'; readonly failure: CallFailure; readonly credits: number }
  /** No credits were left for the call, so it ended without a result. */
  | { readonly kind: 'unpaid'; readonly reason: CodedMessage }
  | { readonly kind: 'late'; readonly waitMs: number }
  /** The call was aborted. `why` is the reason, or undefined if it is unknown. */
  | { readonly kind: 'stopped'; readonly why: string | undefined; readonly credits: number };

/** Receives the number of records and credits that a call has used. `key` is the API key that pays for the call. */
export type CallListener<Key> = (key: Key | undefined, work: { readonly records: number; readonly credits: number }) => void;

/** Runs calls, each of which sends a single record through a flow. */
export class FlowCalls<Key extends PayingKey = PayingKey> {
  readonly #runtimes: Runtimes;
  readonly #paid: CallListener<Key>;
  readonly #aborted = new AbortController();

  /** `paid` is called at the end of each call, even if it failed or was aborted. */
  constructor(shared: SharedParts, now: () => number, paid: CallListener<Key> = () => undefined) {
    this.#runtimes = new Runtimes(shared, now);
    this.#paid = paid;
    // Every call adds a listener. Without this line, Node.js would warn of a leak at the 11th.
    setMaxListeners(0, this.aborted);
  }

  get aborted(): AbortSignal {
    return this.#aborted.signal;
  }

  /** Throws errors that affect more than this record, such as a missing credential. */
  run(request: FlowCall<Key>): Promise<CallResult> {
    return this.#runtimes.within(request, (runtime) => this.#call(request, runtime));
  }

  abort(): void {
    this.#aborted.abort();
  }

  /** Waits until all calls have ended, then closes the runtimes of the flows. */
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

  /** Undefined if the call ended within `waitMs`. Otherwise aborts it and returns the `late` or `stopped` result. */
  async #ended({ run }: CallUnderWay, { waitMs, gone }: FlowCall<Key>): Promise<CallResult | undefined> {
    const giveUp = (message: string) => run.phase.advance('stopped', { ending: 'interrupted', message });
    const left = () => giveUp('the client disconnected');
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

/** True if the credits ran out before the record succeeded or failed. It is then not counted. */
function endedUnpaid({ run, output }: CallUnderWay): boolean {
  return output.outcome === undefined && run.phase.reason?.ending === 'max-credits';
}

const json = formats.ndjson.writer();

function callResultOf({ run, output, names, credits }: CallUnderWay, redactor: Redactor): CallResult {
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
  const rows = output.rows.map((row) => json.write([names.fieldsInFile(row)], false).trimEnd());
  return { kind: 'done', rows: redactor.json(`[${rows.join(',')}]`), credits: credits() };
}
