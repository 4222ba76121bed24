import type { Trace } from '../../src/core/action.ts';
import { loadPatternEngine } from '../../src/core/condition/pattern.ts';
import type { Ending, Event, FailureReport } from '../../src/core/event.ts';
import { Failure } from '../../src/core/failure.ts';
import type { Item, Outcome, PartialRows } from '../../src/core/item.ts';
import type { Lookups } from '../../src/core/lookup.ts';
import type { LimitOverrides, NodeType } from '../../src/core/node.ts';
import type { Cache, Clock, Http, HttpRequest, HttpResponse, Ledger, Output } from '../../src/core/ports.ts';
import type { Fields } from '../../src/core/record.ts';
import type { Tools } from '../../src/core/tools.ts';
import type { Value } from '../../src/core/value/value.ts';
import { RunSpending } from '../../src/credits/spending.ts';
import { reportOf } from '../../src/engine/call.ts';
import { Gates } from '../../src/engine/gates.ts';
import { type Run, type RunSettings, startRun } from '../../src/engine/run.ts';
import type { CompileOptions } from '../../src/flow/compilation.ts';
import { compile, withData } from '../../src/flow/compile.ts';
import type { VariableChoice } from '../../src/flow/variables.ts';
import { createDocuments } from '../../src/http/documents/documents.ts';
import { createLookups } from '../../src/places/data/lookups.ts';
import { dataFolder } from './data-folder.ts';
import { type FakeAnswer, toResponse } from './fake-answer.ts';
import { createFakeClock } from './fake-clock.ts';
import { nodeTypes } from './node-types.ts';

/** A record: an object, or a list of names and values if names such as `__proto__` matter. */
export type GivenRecord = Readonly<Record<string, unknown>> | readonly (readonly [string, unknown])[];

/** A request as it was sent, and the time at which it was sent. */
export type SentRequest = HttpRequest & { readonly url: string; readonly atMs: number };

/** The options with which a test runs a flow. */
export interface FlowOptions extends Partial<RunSettings>, LimitOverrides {
  /** Answers a request, or throws a Failure. `index`: the 0-based number of the request. */
  readonly http?: (request: SentRequest, index: number) => FakeAnswer | Promise<FakeAnswer>;
  /** Calls tools; undefined if the flow calls none. */
  readonly tools?: Tools;
  /** Answers lookups; undefined to use the embedded data. */
  readonly lookups?: Lookups;
  /** True if the records are rows of a CSV file, in which every field is a string. */
  readonly csv?: boolean;
  readonly allowHttp?: boolean;
  readonly variables?: VariableChoice;
  /** The saved connections, keyed by name, in the form in which a flow contains them. */
  readonly savedConnections?: Readonly<Record<string, object>>;
  readonly credits?: number;
  /** The money that earlier parts of the run have spent, keyed by node. */
  readonly costs?: Readonly<Record<string, number>>;
  readonly random?: number;
  /** Additional node types. */
  readonly nodeTypes?: readonly NodeType[];
  readonly clock?: Clock;
  /** The gates that the run shares with other runs on the same clock. */
  readonly gates?: Gates;
  /** The HTTP port to use instead of the fake one. */
  readonly httpPort?: Http;
  /** Number of records read at once; by default all of them. */
  readonly batch?: number;
  /** Wraps the output that collects rows and failures. */
  readonly output?: (output: Output, clock: Clock) => Output;
  /** Receives every attempt. */
  readonly trace?: Trace;
  /** True if the test does not read the events, so that they are not kept. */
  readonly forget?: boolean;
  /** Called with the run when it has started. */
  readonly started?: (run: Run, clock: Clock) => void;
}

/** A record that failed. */
export type FailedRecord = FailureReport & { readonly record: number; readonly fields: Record<string, unknown> };

/** The results of a run. */
export interface FlowResult {
  readonly rows: Record<string, unknown>[];
  readonly failures: FailedRecord[];
  readonly requests: SentRequest[];
  readonly events: Event[];
  /** The time in ms from the start to the end of the run. */
  readonly waitedMs: number;
  readonly ending: Ending;
  readonly credits: number;
}

/** Runs a flow over records with the real engine; everything around the engine is fake. Throws a FlowError. */
export async function runFlow(yaml: string, records: Iterable<GivenRecord>, options: FlowOptions = {}): Promise<FlowResult> {
  await loadPatternEngine();
  const compiling: CompileOptions = {
    file: 'flow.yaml',
    nodeTypes: [...nodeTypes, ...(options.nodeTypes ?? [])],
    allowHttp: options.allowHttp ?? false,
    variables: options.variables,
    textCells: options.csv ?? false,
    concurrency: options.concurrency,
    intervalMs: options.intervalMs,
    savedConnections: () => options.savedConnections ?? {},
  };
  const plan = await withData(dataFolder, () => compile(yaml, compiling));
  const clock = options.clock ?? createFakeClock();
  const output = createOutput();
  const requests: SentRequest[] = [];
  const events: Event[] = [];
  const ledger = createLedger(options.credits);
  const ports = {
    clock,
    ledger,
    spending: new RunSpending(options.costs),
    http: options.httpPort ?? createHttp(clock, requests, options.http ?? (() => ({}))),
    tools: options.tools ?? noTools,
    lookups: options.lookups ?? lookups,
    cache: createMemoryCache(clock),
    documents: createDocuments(clock),
    report: (event: Event) => void (options.forget || events.push(event)),
    uuidOf: (name: string) => `uuid of ${name}`,
    random: () => options.random ?? 0,
  };
  const settings = { ...options };
  const run = startRun(
    plan,
    {
      input: batchesOf(records, options.batch),
      output: options.output?.(output, clock) ?? output,
      ports,
      gates: options.gates ?? new Gates(clock),
      trace: options.trace,
    },
    settings,
  );
  options.started?.(run, clock);
  const ending = await run.ended;
  return { rows: output.rows, failures: output.failures, requests, events, waitedMs: clock.now(), ending, credits: ledger.spent() };
}

const lookups = createLookups(dataFolder);

const noTools: Tools = {
  call: () => Promise.reject(new Failure('network', 'there are no tools here', { sent: false })),
  server: () => Promise.reject(new Failure('network', 'there are no tools here', { sent: false })),
  abort: () => {},
};

async function* batchesOf(records: Iterable<GivenRecord>, size = Number.POSITIVE_INFINITY): AsyncGenerator<Item[]> {
  const items: Item[] = [];
  let read = 0;
  for (const record of records) {
    items.push(toItem(record, read++));
    if (items.length >= size) yield items.splice(0);
  }
  if (items.length > 0) yield items;
}

function toItem(record: GivenRecord, index: number): Item {
  return { number: index + 1, fields: toFields(record), end: { offset: 0, line: 0 } };
}

/** Converts a record to the form that the engine uses. */
export function toFields(record: GivenRecord): Fields {
  return new Map((Array.isArray(record) ? record : Object.entries(record)) as [string, Value][]);
}

function createHttp(clock: Clock, requests: SentRequest[], answer: NonNullable<FlowOptions['http']>): Http {
  const giveUp = new AbortController();
  const givenUp = new Promise<never>((_, reject) => {
    giveUp.signal.addEventListener('abort', () => reject(new Failure('network', 'given up', { retryable: true })));
  });
  givenUp.catch(() => undefined);
  return { send: (request) => Promise.race([send(request), givenUp]), abort: () => giveUp.abort() };

  async function send(request: HttpRequest): Promise<HttpResponse> {
    const sent = { ...request, url: request.origin + request.path, atMs: clock.now() };
    const answered = await answer(sent, requests.push(sent) - 1);
    if (answered.afterMs !== undefined) await clock.sleepUntil(clock.now() + answered.afterMs);
    return toResponse(answered, clock.wallNow());
  }
}

function createOutput(): Output & Pick<FlowResult, 'rows' | 'failures'> {
  const rows: FlowResult['rows'] = [];
  const failures: FailedRecord[] = [];
  return {
    rows,
    failures,
    waiting: 0,
    park: () => false,
    flush: async () => undefined,
    partialRows: rowsInMemory,
    put(item, outcome) {
      if (!('failure' in outcome)) for (const row of rowsOf(outcome)) rows.push(Object.fromEntries(row));
      else failures.push({ record: item.number, fields: Object.fromEntries(item.fields), ...reportOf(outcome.failure) });
      return outcome;
    },
  };
}

interface MemoryRows extends PartialRows {
  readonly all: Fields[];
}

/** Creates a buffer in memory for the output records of an unfinished record. */
export function rowsInMemory(): MemoryRows {
  const all: Fields[] = [];
  return {
    all,
    get rows() {
      return all.length;
    },
    add: async (rows) => {
      for (const row of rows) all.push(row);
    },
    drop: () => undefined,
  };
}

function rowsOf(outcome: Exclude<Outcome, { failure: unknown }>): readonly Fields[] {
  if ('rendered' in outcome) throw new Error('rows of another process');
  return 'rows' in outcome ? outcome.rows : (outcome.spilled as MemoryRows).all;
}

function createLedger(most = Number.POSITIVE_INFINITY): Ledger & { spent(): number } {
  let held = 0;
  let spent = 0;
  return {
    hold: () => (held + spent < most && ++held > 0 ? undefined : { message: 'the credits are used up' }),
    // Counts the actions for which something was sent, whatever they cost.
    settle(_node, cost) {
      held--;
      if (cost !== 0) spent++;
    },
    release: () => void held--,
    usedUp: () => (held + spent >= most ? { message: 'the credits are used up' } : undefined),
    affords: (actions) => held + spent + actions.reduce((sum, [, count]) => sum + count, 0) <= most,
    spent: () => spent,
  };
}

function createMemoryCache(clock: Clock): Cache {
  const kept = new Map<string, { readonly answer: Promise<HttpResponse>; endMs: number }>();
  return {
    through(key, maxAgeMs, produce, hit) {
      const found = kept.get(key);
      if (found && clock.now() < found.endMs) {
        hit('cached');
        return found.answer;
      }
      const entry = { answer: produce(), endMs: Number.POSITIVE_INFINITY };
      kept.set(key, entry);
      void entry.answer.then(
        () => {
          entry.endMs = clock.now() + maxAgeMs;
        },
        () => kept.delete(key),
      );
      return entry.answer;
    },
  };
}
