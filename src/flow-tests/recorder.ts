import { Document, isMap, isSeq, parseDocument, Scalar } from 'yaml';
import type { SentRequest } from '../core/action.ts';
import { textStart } from '../core/answer/charset.ts';
import { AutomateError, errorOf, Failure } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { Cache, Clock, Http, HttpRequest, HttpResponse, Ports } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { ToolAnswer, ToolCall, Tools } from '../core/tools.ts';
import { parseJson } from '../core/value/json.ts';
import { ExactNumber, isMapping, jsonOf, objectOf, orUndefined, type Value } from '../core/value/value.ts';
import type { Gates } from '../engine/gates.ts';
import { startRun } from '../engine/run.ts';
import type { WiredPorts } from '../run/wire.ts';
import type { AnswerSource, AskedRequest } from './given-answers.ts';
import { expectedLiteral } from './test-file.ts';
import { freeLedger } from './test-ports.ts';
import { createTestClock, runTest, TestOutput } from './test-run.ts';
import type { ExpectedFailure, Fault, TestAnswer } from './test-schema.ts';

type Result = HttpResponse | ToolAnswer | Failure;

interface Recorded {
  readonly keys: RequestKeys;
  readonly result: Result;
  readonly ms: number;
}

/** Records the requests sent through its HTTP and tool ports, so that the same requests can be answered from the recording. */
export class Recorder {
  credits = 0;
  failure: Failure | undefined;
  readonly #recorded: Recorded[] = [];

  get requests(): number {
    return this.#recorded.length;
  }

  /** Throws an AutomateError if a limit ended the run. */
  async run(plan: Plan, item: Item, ports: WiredPorts, gates: Gates): Promise<void> {
    const input = (async function* () {
      yield [item];
    })();
    const output = new TestOutput();
    const parts = { input, output, ports: this.recording(ports), gates };
    const { phase, ended } = startRun(plan, parts, { keepGoing: true });
    const ending = await ended;
    this.credits = ports.credits();
    this.failure = output.failures[0]?.failure;
    if (ending === 'complete' || ending === 'on-error-stop' || !phase.reason) return;
    throw errorOf(ending === 'refused-credential' ? 'credential' : 'credits', phase.reason);
  }

  /** The ports use no cache, so every request is really sent. */
  recording<Given extends Ports>(ports: Given): Given {
    const { http, tools } = ports;
    const { now } = ports.clock;
    const send: Http['send'] = (request) => this.#record(request, () => http.send(request), now);
    const call: Tools['call'] = (asked, progressed) => this.#record(asked, () => tools.call(asked, progressed), now);
    return { ...ports, http: { ...http, send }, tools: { ...tools, call }, cache: noCache };
  }

  /** Returns ports that answer every request with the recorded result. They send nothing, spend no credits, and skip all waits. */
  replaying<Given extends Ports>(ports: Given): Given {
    const clock = createTestClock(ports.clock.wallNow());
    return { ...answering(ports, this.replay(), clock), cache: noCache, ledger: freeLedger };
  }

  /** The ports answer with a request's last result, as if all retries were over. Their clock advances only by the recorded durations. */
  replayingLast<Given extends Ports>(ports: Given): Given {
    let nowMs = 0;
    const lastOf = (request: SentRequest) => {
      const { whole, place } = keysOf(request);
      const last =
        this.#recorded.findLast(({ keys }) => keys.whole === whole) ?? this.#recorded.findLast(({ keys }) => keys.place === place);
      nowMs += last?.ms ?? 0;
      return last?.result;
    };
    return answering(ports, lastOf, { ...ports.clock, now: () => nowMs });
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

/** The answers arrive by the replay's own clock, not at the time at which they were recorded. */
function answering<Given extends Ports>(ports: Given, resultOf: (request: SentRequest) => Result | undefined, clock: Clock): Given {
  const answer = async (request: SentRequest) => {
    const result = resultOf(request) ?? new Failure('request', 'the run did not send this request', { sent: false });
    if (result instanceof Failure) throw result;
    return 'kind' in result ? result : { ...result, atMs: clock.now() };
  };
  const send = (request: HttpRequest) => answer(request) as Promise<HttpResponse>;
  const call = (asked: ToolCall) => answer(asked) as Promise<ToolAnswer>;
  return { ...ports, clock, http: { ...ports.http, send }, tools: { ...ports.tools, call } };
}

const noCache: Cache = { through: (_key, _maxAgeMs, produce) => produce() };

interface RequestKeys {
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

/** Response headers that affect what automate does next. Other headers are written to the test only if the flow refers to them. */
const ownHeaders = ['link', 'location', 'retry-after'];

/** `flow` is the text of the flow file. Throws an AutomateError (`usage`) for a failure that a test cannot express. */
export function recordedAnswer(result: Result, { unsigned }: AskedRequest, flow: string): Omit<TestAnswer, 'request'> {
  if (result instanceof Failure) return { ...argumentsOf(unsigned), fault: faultOf(result) };
  return 'kind' in result ? { ...argumentsOf(unsigned), ...toolParts(result) } : httpParts(result, flow);
}

function argumentsOf(request: AskedRequest['unsigned']): Pick<TestAnswer, 'arguments'> {
  return 'kind' in request ? { arguments: { ...(request as ToolCall).arguments } } : {};
}

function toolParts({ isError, body, text }: ToolAnswer): Omit<TestAnswer, 'request'> {
  return isError ? { error: text } : { body };
}

function httpParts(response: HttpResponse, flow: string): Omit<TestAnswer, 'request'> {
  const { status } = response;
  const text = textStart(response, response.body.length);
  const type = response.header('content-type') ?? '';
  const json = /\bjson\b/i.test(type) || type === '' ? orUndefined(() => parseJson(text)) : undefined;
  const isWritable = json !== undefined && typeof json !== 'string' && !holdsDecimals(json);
  const wanted = Object.keys(response.headers).filter(
    (name) => ownHeaders.includes(name) || flow.toLowerCase().includes(`$headers.${name}`),
  );
  const names = isWritable || type === '' || text === '' ? wanted : [...new Set(['content-type', ...wanted])];
  const headers = Object.fromEntries(names.map((name) => [name, response.header(name) ?? '']));
  return {
    ...(status !== 200 && { status }),
    ...(names.length > 0 && { headers }),
    ...(text !== '' && { body: isWritable ? json : text }),
  };
}

/** True if the value contains a number with a fraction or an exponent, whose digits YAML might change. */
function holdsDecimals(value: Value): boolean {
  if (value instanceof ExactNumber) return !/^-?\d+$/.test(value.text);
  if (Array.isArray(value)) return value.some(holdsDecimals);
  return isMapping(value) && Object.values(value as Record<string, Value>).some(holdsDecimals);
}

function faultOf({ kind, code, sent, message }: Failure): Fault {
  if (kind === 'timeout') return 'timeout';
  if (code === 'unknown-host') return 'unknown_host';
  // Failures with a code (of TLS or a proxy) cannot be written in a test: they are retried differently from a refused connection.
  if (kind === 'network' && code === undefined) return sent ? 'reset' : 'refused';
  throw new AutomateError('usage', `a request that fails in this way cannot become a test: ${message}`);
}

interface RecordedFlow {
  readonly plan: Plan;
  readonly fields: Fields;
  readonly allowHttp: boolean;
  takeAnswer(request: AskedRequest): Omit<TestAnswer, 'request'> | undefined;
}

/** Makes a test from one record, with its requests, answers and rows or failure. Returns undefined if a request has no answer. */
export async function recordTest(name: string, { plan, fields, allowHttp, takeAnswer }: RecordedFlow): Promise<WrittenTest | undefined> {
  const answers: TestAnswer[] = [];
  let isComplete = true;
  const source: AnswerSource = {
    takeAnswer(asked) {
      const answer = takeAnswer(asked);
      if (!answer) {
        isComplete = false;
        return undefined;
      }
      // The first name identifies the request most specifically.
      const written = { request: asked.names[0] as string, ...answer };
      answers.push(written);
      return written;
    },
  };
  const { rows, failures } = await runTest({ plan, records: [fields], set: [], allowHttp, answers: source });
  const [failed] = failures;
  const record = objectOf([...fields]);
  const result = failed ? { fails: writtenFailure(failed.failure) } : { rows: rows.map((row) => objectOf(madeFields(row, fields))) };
  return isComplete ? { name, record, answers, ...result } : undefined;
}

/** Returns the fields of an output row that the flow has added or changed, or all fields if there are none. */
function madeFields(row: Fields, record: Fields): [string, Value][] {
  const made = [...row].filter(([name, value]) => jsonOf(value) !== jsonOf(record.get(name) ?? null) || !record.has(name));
  return made.length > 0 ? made : [...row];
}

function writtenFailure({ node, kind, status, message }: Failure): ExpectedFailure {
  return { ...(node !== undefined && { node }), class: kind, ...(status !== undefined && { status }), message };
}

/** A test in the form in which it is written to a file. */
export interface WrittenTest {
  readonly name: string;
  readonly env?: string;
  readonly options?: object;
  readonly record: object;
  readonly answers: readonly TestAnswer[];
  readonly rows?: readonly object[];
  readonly fails?: ExpectedFailure;
}

/** Keeps long strings on one line. */
const style = { lineWidth: 0 };

/** Adds a test to the `text` of a test file (undefined for a new file), which is kept. `flow` is the flow's path, relative to the file. */
export function withTest(text: string | undefined, flow: string, test: WrittenTest): string {
  const item = writable(ordered(test));
  if (text === undefined) return new Document({ flow, tests: [item] }).toString(style);
  const document = parseDocument(text, { version: '1.2', schema: 'core' });
  const tests = isMap(document.contents) ? document.contents.get('tests', true) : undefined;
  if (!isSeq(tests) || !tests.range) return text;
  if (!tests.flow) return withItem(text, tests.range, new Document([item]).toString(style));
  // A test inside a list in brackets would be hard to read, so the list is rewritten with one item per line.
  tests.flow = false;
  tests.add(document.createNode(item));
  return document.toString(style);
}

/** Appends an item to a YAML list that has one item per line. */
function withItem(text: string, [start, end]: readonly [number, number, number], item: string): string {
  const indent = ' '.repeat(start - text.lastIndexOf('\n', start - 1) - 1);
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = item
    .trimEnd()
    .replace(/^(?=.)/gm, indent)
    .replaceAll('\n', lineBreak);
  const before = text.slice(0, end);
  return `${before}${before.endsWith('\n') ? '' : lineBreak}${lines}${lineBreak}${text.slice(end)}`;
}

function ordered({ name, env, options, record, answers, rows, fails }: WrittenTest): object {
  return {
    name,
    ...(env !== undefined && { env }),
    ...(options !== undefined && { options }),
    record,
    ...(answers.length > 0 && { answers: answers.map(writtenAnswer) }),
    ...(rows && { rows: expectedLiteral(rows) }),
    ...(fails && { fails: expectedLiteral(fails) }),
  };
}

/** Of the answer's values, only the arguments of a tool call are compared with the request. */
function writtenAnswer(answer: TestAnswer): object {
  const given = Object.entries(answer).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, name === 'arguments' ? expectedLiteral(value) : value]));
}

/** Returns a value in a form in which YAML can write whole numbers of any length. */
function writable(value: unknown): unknown {
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text);
  if (Array.isArray(value)) return value.map(writable);
  if (!isMapping(value)) return value;
  return new Map(Object.entries(value).map(([name, member]) => [name === '<<' ? quoted(name) : name, writable(member)]));
}

/** Quotes a name that has a special meaning without quotes. */
function quoted(name: string): Scalar {
  const scalar = new Scalar(name);
  scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}
