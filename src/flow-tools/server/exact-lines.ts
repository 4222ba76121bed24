import { Transform, type TransformCallback } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { AutomateError } from '../../core/failure.ts';
import { parseJson } from '../../core/value/json.ts';
import { type JsonObject, jsonOf, orUndefined, type Value } from '../../core/value/value.ts';
import { plainOf } from './plain-values.ts';
import { argumentsInParams } from './tool-server.ts';

/** The members of a client's MCP message that show whether it is a request or cancels a request. */
interface ClientMessage {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** Maximum wait in ms for the last responses after the client has closed stdin. */
const lastAnswersMs = 10_000;

/** Maximum length of a message in characters. */
const maxMessageLength = 8_000_000;

/**
 * Passes an MCP client's messages from stdin to the SDK, line by line. Numbers that would lose digits become strings, but `sentArguments`
 * returns them unchanged. After stdin has ended, the stream stays open until all requests have been answered, but not longer than 10 s. If
 * a message is too long, the stream fails with an AutomateError (`input`).
 */
export class ExactLines extends Transform {
  readonly #decoder = new StringDecoder('utf8');
  readonly #asked = new Map<unknown, JsonObject | undefined>();
  #rest = '';
  #answeredAll = () => {};
  readonly #say: (text: string) => void;
  readonly #refuse: (message: string) => void;
  #lineNumber = 0;

  /**
   * `say` is called with a message for each line that is ignored. `refuse` is called with a message for each request whose id is not valid.
   */
  constructor(say: (text: string) => void, refuse = say) {
    super();
    this.#say = say;
    this.#refuse = refuse;
  }

  /** Returns the arguments of a tool call that has not been answered yet, with all digits of their numbers. */
  sentArguments(id: unknown): JsonObject | undefined {
    return this.#asked.get(id);
  }

  /** Notes that the request with this id has been answered or cancelled. */
  answered(id: unknown): void {
    this.#asked.delete(id);
    if (this.#asked.size === 0) this.#answeredAll();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() as string;
    if (this.#rest.length > maxMessageLength) done(new AutomateError('input', 'the client sent a message of more than 8 MB'));
    else done(null, lines.map((line) => `${this.#exact(line)}\n`).join(''));
  }

  override _flush(done: TransformCallback): void {
    if (this.#rest !== '') this.push(`${this.#exact(this.#rest)}\n`);
    if (this.#asked.size === 0) {
      done();
      return;
    }
    const timer = setTimeout(() => this.#answeredAll(), lastAnswersMs);
    this.#answeredAll = () => {
      clearTimeout(timer);
      this.#answeredAll = () => {};
      done();
    };
  }

  #exact(line: string): string {
    this.#lineNumber++;
    const exact = orUndefined(() => parseJson(line));
    const message = (exact === undefined ? undefined : plainOf(exact)) as ClientMessage | undefined;
    // Reports the line, because the SDK would ignore it without a message.
    if (line.trim() !== '' && message?.jsonrpc !== '2.0')
      this.#say(`line ${this.#lineNumber} of stdin is ignored: expected a message of JSON-RPC 2.0, on one line`);
    if (typeof message !== 'object' || message === null) return line;
    // The SDK would ignore the request, and the client would wait for the answer.
    if (message.jsonrpc === '2.0' && message.method !== undefined && !isRequestId(message.id)) {
      this.#refuse(`expected a string or a whole number as the id of the request, found ${jsonOf(message.id as Value)}`);
      return '';
    }
    this.#note(message, (exact as JsonObject).params);
    return JSON.stringify(message);
  }

  #note({ id, method, params }: ClientMessage, exactParams: unknown): void {
    if (method === 'notifications/cancelled') this.answered(params?.requestId);
    else if (id !== undefined && method !== undefined) this.#asked.set(id, argumentsInParams(exactParams));
  }
}

/** True for an id with which MCP allows requests, and for a notification, which has no id. */
function isRequestId(id: unknown): boolean {
  return id === undefined || typeof id === 'string' || Number.isInteger(id);
}
