import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum wait for a program's child processes to exit after the program itself. */
const restTimeoutMs = 500;

const isWindows = process.platform === 'win32';

const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface ProgramOptions {
  readonly env: NodeJS.ProcessEnv;
  /** True to start the program through a shell. The default is true only on Windows, where many programs are scripts. */
  readonly shell?: boolean;
  /** Becomes the program's stdin. The program stays in this process's group, because only the foreground group can read from it. */
  readonly terminal?: number;
}

/** May still have a running process. */
const running = new Set<ProcessGroup>();

/** Not reached by Ctrl-C. A signal to the group also ends the program's children. All groups are killed when this process exits. */
export class ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #hasGroup: boolean;

  constructor([program, ...args]: readonly [string, ...string[]], { env, shell = isWindows, terminal }: ProgramOptions) {
    this.#hasGroup = !isWindows && terminal === undefined;
    // The exit handlers are installed before the program starts, because this process may get a signal as soon as the program is running.
    if (running.size === 0) watchExit();
    const stdio = [terminal ?? 'pipe', 'pipe', 'pipe'] as const;
    this.child = spawn(program, args, { env, detached: this.#hasGroup, shell, stdio: [...stdio] }) as ChildProcessWithoutNullStreams;
    running.add(this);
  }

  signal(signal: NodeJS.Signals): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    const targets = this.#hasGroup ? [-pid] : [...(isWindows ? [] : descendantsOf(pid)), pid];
    for (const target of targets) {
      try {
        process.kill(target, signal);
      } catch {
        // The process or its whole group has already ended.
      }
    }
  }

  /** False if the program is still running after `timeoutMs`. */
  endsWithin(timeoutMs: number): Promise<boolean> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      child.once('exit', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /** Ends the child processes that the program left running with SIGTERM, and after 0.5 s with SIGKILL. */
  async endRest(): Promise<void> {
    this.signal('SIGTERM');
    for (let waitedMs = 0; waitedMs < restTimeoutMs && this.#isAlive(); waitedMs += 25) await sleep(25);
    if (this.#isAlive()) this.signal('SIGKILL');
    this.leave();
  }

  /** Lets the group's remaining processes keep running after this process exits. */
  leave(): void {
    running.delete(this);
    if (running.size === 0) unwatchExit();
  }

  #isAlive(): boolean {
    const { pid } = this.child;
    try {
      return pid !== undefined && !isWindows && process.kill(-pid, 0);
    } catch {
      return false;
    }
  }
}

function descendantsOf(pid: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const parents = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const childrenOf = (parent: number): number[] =>
    parents.flatMap(([child = 0, of]) => (of === parent ? [child, ...childrenOf(child)] : []));
  return childrenOf(pid);
}

function watchExit(): void {
  process.on('exit', killAll);
  for (const signal of endSignals) process.on(signal, exitOnSignal);
}

function unwatchExit(): void {
  process.off('exit', killAll);
  for (const signal of endSignals) process.off(signal, exitOnSignal);
}

function killAll(): void {
  for (const group of running) group.signal('SIGKILL');
}

/** Does nothing if another handler is installed. Node's default action would end the process without calling the `exit` listeners. */
function exitOnSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
}

const maxLength = 2000;

/** Keeps the last lines of stderr for error messages. Drops only whole lines, because a secret cut in half could not be masked. */
export class OutputTail {
  readonly #decoder = new StringDecoder('utf8');
  #text = '';
  /** True if the next chunk continues a line whose beginning was dropped. The rest of that line is dropped too. */
  #isWithinLine = false;

  add(chunk: Buffer): void {
    const added = this.#decoder.write(chunk);
    this.#text += this.#isWithinLine ? added.slice(added.indexOf('\n') + 1 || added.length) : added;
    this.#isWithinLine &&= !added.includes('\n');
    if (this.#text.length <= maxLength) return;
    const start = this.#text.indexOf('\n', this.#text.length - maxLength - 1) + 1;
    this.#isWithinLine = start === 0;
    this.#text = this.#isWithinLine ? '' : this.#text.slice(start);
  }

  /** Returns the last five lines that are not part of a stack trace. */
  lines(): string {
    const lines = this.#text.trim().split('\n');
    return lines
      .filter((line) => !/^\s+at /.test(line))
      .slice(-5)
      .join('\n');
  }
}
