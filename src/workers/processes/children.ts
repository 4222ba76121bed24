import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import type { Permits, ReservedStarts } from '../../core/ports.ts';
import { onFrames, sendFrame } from './frames.ts';
import { type FromWorker, type PauseMessage, processChannel, type ToProcess, type ToWorker } from './wire-form.ts';

interface ChildStarts {
  reserve(gate: string, process: object, intervalMs: number, count: number): ReservedStarts;
  /** Ends a process's rate at one gate, or at all gates if `gate` is undefined. The rate then no longer slows down the gate. */
  release(process: object, gate?: string): void;
  pause(gate: string, waitMs: number): void;
}

export interface ChildrenOptions {
  readonly children: number;
  /** The arguments of Node.js that start a child process. */
  readonly command: readonly string[];
  readonly starts: ChildStarts;
  paused?(gate: string, waitMs: number, isPaced?: boolean): void;
}

export type ChannelListener = (message: Exclude<FromWorker, { kind: 'ended' }>) => void;

/** A process that exits sooner is replaced only when it is needed, because the new process might exit at once, too. */
const livelyMs = 1000;

/** A fixed number of child processes that act as workers. Several runs can share them, each with a separate channel to every process. */
export class Children {
  readonly #options: ChildrenOptions;
  readonly count: number;
  readonly #processes: Child[];
  #lastChannel = processChannel;
  #isClosed = false;

  constructor(options: ChildrenOptions) {
    this.#options = options;
    this.count = options.children;
    this.#processes = Array.from({ length: options.children }, (_, at) => this.#start(at));
  }

  /** If the process has exited, starts a new one first. `at` is the 0-based index of the process. */
  open(at: number, take: ChannelListener): Channel {
    if (this.#processes[at]?.hasExited !== false) this.#processes[at] = this.#start(at);
    return (this.#processes[at] as Child).open(++this.#lastChannel, take);
  }

  /** For this process's own calls. Reserves request starts, and pauses the gate for all processes. */
  permitsOf(gate: string): Permits {
    const { starts } = this.#options;
    return {
      reserve: async (intervalMs, count) => starts.reserve(gate, this, intervalMs, count),
      release: () => starts.release(this, gate),
      pause: (waitMs, isPaced) => this.#pause({ kind: 'pause', gate, waitMs, isPaced }, undefined),
    };
  }

  /** Kills processes that are still working on a run. */
  close(): void {
    this.#isClosed = true;
    for (const child of this.#processes) child.end();
  }

  #start(at: number): Child {
    const { command, starts } = this.#options;
    const startedMs = performance.now();
    const take = (message: ToProcess) => {
      if (message.kind === 'pause') return this.#pause(message, child);
      if (message.kind === 'release') return starts.release(child, message.gate);
      const { id, gate, intervalMs, count } = message;
      child.send(processChannel, { kind: 'answer', id, value: starts.reserve(gate, child, intervalMs, count) });
    };
    const child: Child = new Child(command, take, () => {
      starts.release(child);
      if (!this.#isClosed && performance.now() - startedMs > livelyMs) this.#processes[at] = this.#start(at);
    });
    return child;
  }

  #pause(message: PauseMessage, by: Child | undefined): void {
    const { gate, waitMs, isPaced } = message;
    this.#options.starts.pause(gate, waitMs);
    for (const child of this.#processes) if (child !== by) child.send(processChannel, message);
    if (by) this.#options.paused?.(gate, waitMs, isPaced);
  }
}

class Child {
  hasExited = false;
  readonly #process: ChildProcess;
  readonly #pipe: Duplex;
  readonly #channels = new Map<number, Channel>();

  /** `take` is called with the messages about gates. `exited` is called once the process has exited, before its channels close. */
  constructor(command: readonly string[], take: (message: ToProcess) => void, exited: () => void) {
    // Messages are sent through a separate pipe. In stdout, they could be mixed with the output of libraries.
    // A signal to this process's group, such as Ctrl-C in a terminal, does not reach a detached process. Only this process handles it.
    this.#process = spawn(process.execPath, command, {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    this.#pipe = this.#process.stdio[3] as Duplex;
    // The error is ignored, because a write fails if the child process has just died.
    this.#pipe.on('error', () => undefined);
    onFrames(this.#pipe, (channel, text) => {
      if (channel === processChannel) take(JSON.parse(text) as ToProcess);
      else this.#take(channel, JSON.parse(text) as FromWorker);
    });
    const closed = new Promise<void>((resolve) => this.#pipe.once('close', resolve));
    const ended = new Promise<void>((resolve) => {
      for (const event of ['error', 'exit']) this.#process.once(event, () => resolve());
    });
    // Waits for `closed` as well as `ended`, so all messages from the child process are received first.
    void Promise.all([closed, ended]).then(() => {
      this.hasExited = true;
      exited();
      for (const channel of this.#channels.keys()) this.#close(channel);
    });
  }

  open(channel: number, take: ChannelListener): Channel {
    const opened = new Channel(take, (text) => sendFrame(this.#pipe, channel, text));
    this.#channels.set(channel, opened);
    return opened;
  }

  send(channel: number, message: ToWorker): void {
    sendFrame(this.#pipe, channel, JSON.stringify(message));
  }

  end(): void {
    if (this.#channels.size > 0) this.#process.kill('SIGKILL');
    else this.#pipe.end();
  }

  #take(channel: number, message: FromWorker): void {
    const opened = this.#channels.get(channel);
    if (message.kind === 'ended') {
      if (opened) opened.hasEndedWell = true;
      this.#close(channel);
    } else opened?.take(message);
  }

  #close(channel: number): void {
    const opened = this.#channels.get(channel);
    this.#channels.delete(channel);
    opened?.close();
  }
}

/** The connection between a run and one child process. Several runs can have a channel to the same process. */
export class Channel {
  /** Resolves once the child process has closed the channel or exited, and all its messages have been received. */
  readonly ended: Promise<void>;
  /** True if the child process has closed the channel itself, because its work is done. False if the process has crashed. */
  hasEndedWell = false;
  close: () => void = () => undefined;

  constructor(
    readonly take: ChannelListener,
    readonly sendText: (text: string) => void,
  ) {
    this.ended = new Promise((resolve) => {
      this.close = resolve;
    });
  }

  send(message: ToWorker): void {
    this.sendText(JSON.stringify(message));
  }
}
