import { type Readable, Transform, type TransformCallback, type Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { AutomateError } from '../core/failure.ts';
import { parseJson } from '../core/value/json.ts';
import { type JsonObject, jsonOf, orUndefined, type Value } from '../core/value/value.ts';
import { argumentsInParams, createToolServer } from './tool-server.ts';
import { plainOf, type Toolbox } from './toolbox.ts';

interface StdioToolsOptions {
  readonly toolbox: Toolbox<undefined>;
  readonly version: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Called with a message for each line of stdin that is ignored. */
  say(text: string): void;
}

interface StdioTools {
  /** Resolves on disconnect or close. Rejects with an AutomateError (`input`) if a message is too long. */
  readonly ended: Promise<void>;
  toolsChanged(): void;
  close(): Promise<void>;
}

/** The error code of JSON-RPC 2.0 for a message that is not a valid request. */
const invalidRequest = -32600;

/** Starts an MCP server that communicates over stdin and stdout. */
export function serveToolsOverStdio({ toolbox, version, stdin, stdout, say }: StdioToolsOptions): StdioTools {
  const lines = new ExactLines(say, (message) => {
    // JSON-RPC 2.0, section 5: the answer to a request whose id is not valid has the id null.
    stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: invalidRequest, message } })}\n`);
  });
  const transport = new AnswerTransport(lines, stdout);
  const servers = new Set<Server>();
  const handle = serveStdio(
    () => {
      const server = createToolServer({
        ...{ toolbox, version, callerOf: () => undefined },
        sentArguments: ({ mcpReq }) => lines.sentArguments(mcpReq.id),
      });
      servers.add(server);
      server.onclose = () => servers.delete(server);
      return server;
    },
    { transport, onerror: () => undefined },
  );
  stdin.on('error', () => lines.end());
  stdin.pipe(lines);
  const ended = new Promise<void>((resolve, reject) => {
    lines.once('error', reject).once('end', resolve).once('close', resolve);
    stdout.once('error', () => resolve());
  });
  return {
    ended,
    toolsChanged() {
      for (const server of servers) server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      await handle.close();
      stdin.unpipe(lines).pause();
      lines.destroy();
    },
  };
}

/** Tells the input stream which requests have been answered. */
class AnswerTransport extends StdioServerTransport {
  readonly #lines: ExactLines;

  constructor(lines: ExactLines, stdout: Writable) {
    // `lines` limits the length of messages. The SDK's own limit is turned off, because the SDK would close the connection without an error
    // message.
    super(lines, stdout, { maxBufferSize: Number.POSITIVE_INFINITY });
    this.#lines = lines;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if ('id' in message && !('method' in message)) this.#lines.answered(message.id);
  }
}

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
 * @internal
 */
export class ExactLines extends Transform {
  readonly #decoder = new StringDecoder('utf8');
  readonly #asked = new Map<unknown, JsonObject | undefined>();
  #rest = '';
  #answeredAll = () => {};
  readonly #say: (text: string) => void;
  readonly #refuse: (message: string) => void;
  #lineNumber = 0;

  /** `say` is called with a message for each line that is ignored. `refuse` is called with one for each request whose id is not valid. */
  constructor(say: (text: string) => void, refuse = say) {
    super();
    this.#say = say;
    this.#refuse = refuse;
  }

  /** Arguments of an unanswered tool call, with all digits of their numbers. */
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

/** Also true for a notification, which has no id. */
function isRequestId(id: unknown): boolean {
  return id === undefined || typeof id === 'string' || Number.isInteger(id);
}
