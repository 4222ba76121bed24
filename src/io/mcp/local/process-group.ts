import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longest wait for a program's child processes after it has ended. */
const restTimeoutMs = 500;

const isWindows = process.platform === 'win32';

const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The way a program is started. */
export interface StartOptions {
  readonly env: NodeJS.ProcessEnv;
  /** True if a shell starts it. By default only on Windows, where many programs are scripts. */
  readonly shell?: boolean;
  /** The file descriptor of a terminal, for its input. Then it stays in the group of this process: no other group may read there. */
  readonly terminal?: number | undefined;
}

/** Groups that may have a process alive. */
const running = new Set<ProcessGroup>();

/**
 * A program in its own process group: Ctrl-C at the terminal does not reach it, and a signal to the group also
 * ends the program's child processes. All groups are killed when this process exits.
 */
export class ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #hasGroup: boolean;

  constructor([program, ...args]: readonly [string, ...string[]], { env, shell = isWindows, terminal }: StartOptions) {
    this.#hasGroup = !isWindows && terminal === undefined;
    // Before the program starts: a signal may come as soon as it runs.
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
        // No process is left.
      }
    }
  }

  /** Resolves to true once the program has ended, or to false after `timeoutMs`. */
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

  /** Ends the program's child processes: by SIGTERM, and after 0.5 s by SIGKILL. */
  async endRest(): Promise<void> {
    this.signal('SIGTERM');
    for (let waitedMs = 0; waitedMs < restTimeoutMs && this.#isAlive(); waitedMs += 25) await sleep(25);
    if (this.#isAlive()) this.signal('SIGKILL');
    this.leave();
  }

  /** Leaves the program's child processes to themselves. */
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

/** The processes that a process has started, and those that they have. */
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

/** Exits in commands without a signal handler. Otherwise Node would end this process without running its `exit` listeners. */
function exitOnSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
}
