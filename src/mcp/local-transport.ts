import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { excerpt } from '../core/answer/response.ts';
import type { LocalServer } from '../core/tools.ts';
import { isMapping, orUndefined } from '../core/value/value.ts';
import { OutputTail, ProcessGroup } from '../files/process-group.ts';
import { readableMessage, unreadable } from './readable.ts';

/** Maximum wait in ms for a local server to exit after its stdin has been closed, and again after SIGTERM. */
const endTimeoutMs = 1500;

/** Maximum wait in ms for the remaining output of a server that has exited. Its child processes may keep the pipes open forever. */
const outputTimeoutMs = 200;

/** A transport that starts an MCP server as a child process. Messages are exchanged as lines of JSON over the server's stdin and stdout. */
export class LocalTransport implements Transport {
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  readonly #command: LocalServer['command'];
  readonly #variables: Readonly<Record<string, string>>;
  readonly #stdout = new MessageLines();
  readonly #stderr = new OutputTail();
  #group: ProcessGroup | undefined;
  /** The ids of the requests that the server has not responded to yet. */
  readonly #asked = new Set<string>();
  /** Messages from the server that have not been passed to the client yet. */
  readonly #inbox: JSONRPCMessage[] = [];
  /** Resolves when stdin accepts more data; shared by all waiting messages. Undefined if no message is waiting. */
  #drained: Promise<void> | undefined;
  #hasEnded = false;
  /** The reason why the server exited, for error messages; empty while the server runs. */
  #ending = '';
  /** Resolves when the child processes that the server left running have ended. */
  #restEnded: Promise<void> | undefined;

  /** `variables` are added to the server's basic environment variables such as PATH and HOME. They may contain secrets. */
  constructor({ command }: LocalServer, variables: Readonly<Record<string, string>>) {
    this.#command = command;
    this.#variables = variables;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#group = new ProcessGroup(this.#command, { env: { ...getDefaultEnvironment(), ...this.#variables } });
      const { child } = this.#group;
      child.on('spawn', resolve);
      child.on('error', (error: NodeJS.ErrnoException) => {
        const reason = `it cannot be started: ${startProblem(error, this.#command[0])}`;
        // The promise is rejected here, before the `close` event, because that event does not provide the error's code.
        reject(Object.assign(new Error(reason), { code: error.code }));
        this.#end(reason);
      });
      child.on('exit', (code, signal) => this.#endSoon(signal ? `it was killed by ${signal}` : `it ended with exit code ${code}`));
      child.on('close', () => this.#end());
      child.stdin.on('error', (error) => this.onerror?.(error));
      child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
      child.stderr.on('data', (chunk: Buffer) => this.#stderr.add(chunk));
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#group || this.#hasEnded) throw new Error('the server has ended');
    if ('id' in message && 'method' in message) this.#asked.add(String(message.id));
    const { stdin } = this.#group.child;
    if (stdin.write(`${JSON.stringify(message)}\n`) || stdin.destroyed) return;
    this.#drained ??= drainOf(stdin).finally(() => {
      this.#drained = undefined;
    });
    await this.#drained;
  }

  /** Ends the server by closing its stdin. If the server does not exit, it gets SIGTERM and then SIGKILL. */
  async close(): Promise<void> {
    if (this.#group && !this.#hasEnded) {
      this.#group.child.stdin.end();
      if (!(await this.#group.endsWithin(endTimeoutMs))) this.#group.signal('SIGTERM');
      if (!(await this.#group.endsWithin(endTimeoutMs))) this.kill();
    }
    this.#end();
    await this.#restEnded;
  }

  kill(): void {
    this.#group?.signal('SIGKILL');
  }

  /** Returns '' if no reason is known. */
  explanation(): string {
    const { skipped } = this.#stdout;
    const lines = this.#stderr.lines();
    const reasons = [
      this.#ending,
      skipped && `it wrote something to stdout that is not a message: ${excerpt(skipped, 100)}`,
      lines && `it said: ${excerpt(lines, 300)}`,
    ];
    return reasons.filter((reason) => reason !== '').join('; ');
  }

  #receive(chunk: Buffer): void {
    if (this.#hasEnded) return;
    for (const found of this.#stdout.read(chunk)) {
      const message = this.#readable(found);
      if (!message) continue;
      // Skips a response whose id does not belong to an open request. If the next request gets the same id, the client would take the
      // response for the response to that request.
      if ('id' in message && !('method' in message) && !this.#asked.delete(String(message.id))) continue;
      this.#inbox.push(message);
      if (this.#inbox.length === 1) void this.#deliver();
    }
    if (!this.#stdout.isTooLong) return;
    this.kill();
    this.#end(lineTooLong);
  }

  /** A response without an id is taken for the answer to the only open request. */
  #readable(found: unknown): JSONRPCMessage | undefined {
    const [only, ...others] = this.#asked;
    return typeof found === 'string' ? this.#brokenAnswer(found) : readableMessage(found, others.length === 0 ? only : undefined);
  }

  /** Text such as a log line is skipped. A broken answer, such as one with NaN (Python), fails the call whose id it has. */
  #brokenAnswer(line: string): JSONRPCMessage | undefined {
    const id = /^\s*\{.*"(?:jsonrpc|result|error)"/.test(line) && /"id"\s*:\s*"?([\w-]+)/.exec(line)?.[1];
    return id && this.#asked.has(id) ? unreadable(id, line) : undefined;
  }

  /** Passes messages on one at a time. The client handles a notification a few microtasks late, so a response after it must wait. */
  async #deliver(): Promise<void> {
    for (let message = this.#inbox[0]; message; message = this.#inbox[0]) {
      try {
        this.onmessage?.(message);
        if (!('id' in message)) for (let turn = 0; turn < 3; turn++) await undefined;
      } catch (error) {
        this.onerror?.(error as Error);
      } finally {
        this.#inbox.shift();
      }
    }
  }

  /** Reports after a short wait that the server has exited. The wait lets the rest of its output arrive. */
  #endSoon(reason: string): void {
    this.#ending = reason;
    setTimeout(() => this.#end(), outputTimeoutMs).unref();
  }

  #end(reason?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#ending = reason ?? this.#ending;
    this.#restEnded = this.#group?.endRest();
    this.onclose?.();
  }
}

function drainOf(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stdin.off('drain', done).off('close', done);
      resolve();
    };
    stdin.on('drain', done).on('close', done);
  });
}

function startProblem({ code, message }: NodeJS.ErrnoException, program: string): string {
  if (code === 'ENOENT') return `there is no program "${program}"`;
  if (code === 'EACCES') return `"${program}" is not executable`;
  return message;
}

/** Maximum length of a server's message in characters. A longer message would not be useful in a record. */
const maxLength = 10_000_000;

const lineTooLong = `it sent a message of more than ${maxLength / 1e6} MB`;

/** Splits the stdout of an MCP server into messages. A message is a line of JSON; all other lines are skipped. @internal */
export class MessageLines {
  readonly #decoder = new StringDecoder('utf8');
  /** The chunks of the last line, whose end has not arrived yet. */
  #pieces: string[] = [];
  #length = 0;
  #skipped = '';

  /** Adds a chunk of the server's output. Returns the messages that are now complete, and other lines as text. */
  read(chunk: Buffer): unknown[] {
    const [first = '', ...rest] = this.#decoder.write(chunk).split('\n');
    this.#pieces.push(first);
    this.#length += first.length;
    if (rest.length === 0) return [];
    const lines = [this.#pieces.join(''), ...rest];
    const unfinished = lines.pop() as string;
    this.#pieces = [unfinished];
    this.#length = unfinished.length;
    return lines.flatMap((line) => this.#parse(line));
  }

  get isTooLong(): boolean {
    return this.#length > maxLength;
  }

  /** The last line of output that was not a message; empty if every line was a message. */
  get skipped(): string {
    return this.#skipped;
  }

  /** A line can be a list of messages (a batch, until the revision 2025-03-26). */
  #parse(line: string): unknown[] {
    if (line.trim() === '') return [];
    const found = orUndefined(() => JSON.parse(line) as unknown);
    const messages = [found].flat().filter((one) => isMapping(one) && 'jsonrpc' in one);
    if (messages.length > 0) return messages;
    this.#skipped = line;
    return [line];
  }
}
