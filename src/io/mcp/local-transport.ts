import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { excerpt } from '../../core/answer/response.ts';
import type { LocalServer } from '../../core/tools/tools.ts';

/** A transport to a server that is started here: a message is a line of JSON on its stdin or stdout. */
export interface LocalTransport extends Transport {
  /** What is known of its end, or of why it says nothing, in words; empty for nothing. */
  story(): string;
  /** Ends it at once, with all that it has started. */
  kill(): void;
}

/** No message is longer: who answers more answers nothing that a record could hold. */
const mostCharacters = 10_000_000;

/** So long a server may take to end by itself. */
const patienceMs = 1500;

/** So long what a server has started may take to end after it. */
const restPatienceMs = 500;

const shownOutput = 2000;

/** Servers that were started here and may live. */
const running = new Set<LocalTransport>();

const watched = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A run listens itself. Elsewhere a signal would end the tool, and leave the servers, whose groups are their own. */
function endOnSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
}

/** Starts a server. `variables`: what it sees besides what every program needs, secrets included. */
export function createLocalTransport({ command }: LocalServer, variables: Readonly<Record<string, string>>): LocalTransport {
  let child: ChildProcess | undefined;
  let hasEnded = false;
  let ending = '';
  const said = lastLinesOf();
  let junk = '';
  /** All messages that are to be sent wait for the same one. */
  let draining: Promise<void> | undefined;
  /** The end of what it has started. */
  let resting: Promise<void> = Promise.resolve();
  const waitingMessages: JSONRPCMessage[] = [];
  const onExit = () => transport.kill();
  const transport: LocalTransport = {
    start: () =>
      new Promise((resolve, reject) => {
        const [program, ...args] = command;
        // A group of its own: Ctrl-C at the terminal is ours, and what it has started ends with it.
        const isWindows = process.platform === 'win32';
        const started = spawn(program, args, { env: { ...getDefaultEnvironment(), ...variables }, detached: !isWindows, shell: isWindows });
        child = started;
        process.on('exit', onExit);
        if (running.size === 0) for (const signal of watched) process.on(signal, endOnSignal);
        running.add(transport);
        started.on('spawn', () => resolve());
        started.on('error', (error) => {
          ending = `it cannot be started: ${startReason(error, program)}`;
          reject(Object.assign(new Error(ending), { code: (error as NodeJS.ErrnoException).code }));
          ended();
        });
        started.on('exit', (code, signal) => {
          ending = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
          // Whatever it has started may keep its pipes open.
          setTimeout(ended, 200).unref();
        });
        started.on('close', ended);
        started.stdin.on('error', (error) => transport.onerror?.(error));
        started.stdout.on('data', reader());
        started.stderr.on('data', (chunk: Buffer) => said.add(chunk));
      }),
    async send(message) {
      if (!child || hasEnded) throw new Error('the server has ended');
      const stdin = child.stdin as NonNullable<ChildProcess['stdin']>;
      if (stdin.write(`${JSON.stringify(message)}\n`) || stdin.destroyed) return;
      draining ??= drained(stdin).finally(() => {
        draining = undefined;
      });
      await draining;
    },
    async close() {
      if (!child || hasEnded) {
        ended();
        return resting;
      }
      child.stdin?.end();
      if (!(await endsWithin(patienceMs))) signalGroup('SIGTERM');
      if (!(await endsWithin(patienceMs))) transport.kill();
      ended();
      await resting;
    },
    kill: () => signalGroup('SIGKILL'),
    story() {
      const text = said.text();
      const output = text.trim() === '' ? '' : `; it said: ${excerpt(tellingLines(text), 300)}`;
      const noise = junk === '' ? '' : `; it wrote to stdout what is no message: ${excerpt(junk, 100)}`;
      return `${ending}${noise}${output}`.replace(/^; /, '');
    },
  };
  return transport;

  function reader(): (chunk: Buffer) => void {
    const decoder = new StringDecoder('utf8');
    let pieces: string[] = [];
    let waiting = 0;
    return (chunk) => {
      const lines = decoder.write(chunk).split('\n');
      const last = lines.pop() as string;
      for (const line of lines) {
        take(pieces.length === 0 ? line : pieces.join('') + line);
        pieces = [];
        waiting = 0;
      }
      pieces.push(last);
      waiting += last.length;
      if (waiting <= mostCharacters || hasEnded) return;
      ending = `it sent a message of more than ${mostCharacters / 1e6} MB`;
      transport.kill();
      ended();
    };
  }

  function take(line: string): void {
    if (hasEnded || line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      junk = line;
      return;
    }
    if (typeof message !== 'object' || message === null || !('jsonrpc' in message)) {
      junk = line;
      return;
    }
    waitingMessages.push(message as JSONRPCMessage);
    if (waitingMessages.length === 1) void deliver();
  }

  /** The client takes note of a notification a moment later: the answer behind it must not overtake it. */
  async function deliver(): Promise<void> {
    for (let message = waitingMessages[0]; message; message = waitingMessages[0]) {
      try {
        transport.onmessage?.(message);
        if (!('id' in message)) for (let turn = 0; turn < 3; turn++) await undefined;
      } catch (error) {
        transport.onerror?.(error as Error);
      } finally {
        waitingMessages.shift();
      }
    }
  }

  function ended(): void {
    if (hasEnded) return;
    hasEnded = true;
    // What it has started has nobody to speak with any more.
    signalGroup('SIGTERM');
    resting = endRest();
    transport.onclose?.();
  }

  /** What ignores the signal is ended all the same. */
  async function endRest(): Promise<void> {
    for (let waitedMs = 0; waitedMs < restPatienceMs && isGroupAlive(); waitedMs += 25) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    if (isGroupAlive()) signalGroup('SIGKILL');
    process.off('exit', onExit);
    running.delete(transport);
    if (running.size === 0) for (const signal of watched) process.off(signal, endOnSignal);
  }

  function isGroupAlive(): boolean {
    try {
      return child?.pid !== undefined && process.platform !== 'win32' && process.kill(-child.pid, 0);
    } catch {
      return false;
    }
  }

  function endsWithin(ms: number): Promise<boolean> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      child?.once('exit', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  function signalGroup(signal: NodeJS.Signals): void {
    if (child?.pid === undefined) return;
    try {
      if (process.platform === 'win32') child.kill(signal);
      else process.kill(-child.pid, signal);
    } catch {
      // Nobody is left.
    }
  }
}

function drained(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stdin.off('drain', done).off('close', done);
      resolve();
    };
    stdin.on('drain', done).on('close', done);
  });
}

function startReason(error: Error, program: string): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no program "${program}"`;
  if (code === 'EACCES') return `"${program}" may not be run`;
  return error.message;
}

/** Keeps the last whole lines: of a secret that was cut, the rest would not be known as one. */
function lastLinesOf(): { add(chunk: Buffer): void; text(): string } {
  const decoder = new StringDecoder('utf8');
  let kept = '';
  let isWithinLine = false;
  return {
    add(chunk) {
      const added = decoder.write(chunk);
      kept += isWithinLine ? added.slice(added.indexOf('\n') + 1 || added.length) : added;
      isWithinLine &&= !added.includes('\n');
      if (kept.length <= shownOutput) return;
      const start = kept.indexOf('\n', kept.length - shownOutput - 1) + 1;
      isWithinLine = start === 0;
      kept = isWithinLine ? '' : kept.slice(start);
    },
    text: () => kept,
  };
}

/** The end of a stack trace tells little: the lines that say what went wrong do. */
function tellingLines(text: string): string {
  const lines = text.trim().split('\n');
  const telling = lines.filter((line) => !/^\s+at /.test(line));
  return telling.slice(-5).join('\n');
}
