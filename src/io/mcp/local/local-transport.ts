import type { Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { excerpt } from '../../../core/answer/response.ts';
import type { LocalServer } from '../../../core/tools/tools.ts';
import { lineTooLong, MessageLines } from './message-lines.ts';
import { OutputTail } from './output-tail.ts';
import { ProcessGroup } from './process-group.ts';

/** Longest wait for a server to end by itself, and then by SIGTERM. */
const endTimeoutMs = 1500;

/** Longest wait for the rest of a server's output once it has ended: its child processes may hold its pipes open. */
const outputTimeoutMs = 200;

/** A transport to a server that is started here. Messages are lines of JSON on its stdin and stdout. */
export class LocalTransport implements Transport {
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  readonly #command: LocalServer['command'];
  readonly #variables: Readonly<Record<string, string>>;
  readonly #stdout = new MessageLines();
  readonly #stderr = new OutputTail();
  #group: ProcessGroup | undefined;
  /** The ids of requests that have no answer yet. */
  readonly #asked = new Set<string>();
  /** Messages that the client has not been given yet. */
  readonly #inbox: JSONRPCMessage[] = [];
  /** Resolves when the server reads again. Shared by all messages that wait for it. */
  #drained: Promise<void> | undefined;
  #hasEnded = false;
  /** The reason why the server ended, in words. */
  #ending = '';
  /** Resolves when all child processes of the server have ended. */
  #restEnded: Promise<void> | undefined;

  /** `variables`: environment variables for the server, besides PATH, HOME and the like; they may hold secrets. */
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
        // Rejects before `close`, whose error has no code.
        reject(Object.assign(new Error(reason), { code: error.code }));
        this.#end(reason);
      });
      child.on('exit', (code, signal) => this.#endSoon(signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`));
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

  /** Ends the server: by the end of its stdin, else by SIGTERM, else by SIGKILL. */
  async close(): Promise<void> {
    if (this.#group && !this.#hasEnded) {
      this.#group.child.stdin.end();
      if (!(await this.#group.endsWithin(endTimeoutMs))) this.#group.signal('SIGTERM');
      if (!(await this.#group.endsWithin(endTimeoutMs))) this.kill();
    }
    this.#end();
    await this.#restEnded;
  }

  /** Ends the server and its child processes at once. */
  kill(): void {
    this.#group?.signal('SIGKILL');
  }

  /** Explains in words why the server ended or gives no answer; empty if nothing is known. */
  explanation(): string {
    const { skipped } = this.#stdout;
    const lines = this.#stderr.lines();
    const reasons = [
      this.#ending,
      skipped && `it wrote to stdout what is no message: ${excerpt(skipped, 100)}`,
      lines && `it said: ${excerpt(lines, 300)}`,
    ];
    return reasons.filter((reason) => reason !== '').join('; ');
  }

  #receive(chunk: Buffer): void {
    if (this.#hasEnded) return;
    for (const message of this.#stdout.read(chunk)) {
      // An answer that nobody asked for could have the id of the next request.
      if ('id' in message && !('method' in message) && !this.#asked.delete(String(message.id))) continue;
      this.#inbox.push(message);
      if (this.#inbox.length === 1) void this.#deliver();
    }
    if (!this.#stdout.isTooLong) return;
    this.kill();
    this.#end(lineTooLong);
  }

  /**
   * Hands messages to the client one at a time. The client handles a notification a few microtasks later, and the next answer must not
   * overtake the notification.
   */
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

  /** Reports the end once the rest of the server's output is read. */
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
  if (code === 'EACCES') return `"${program}" may not be run`;
  return message;
}
