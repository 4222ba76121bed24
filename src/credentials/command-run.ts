import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { usageError } from '../core/failure.ts';
import type { Clock } from '../core/ports.ts';
import { looksSecret } from '../core/text/secret-shapes.ts';
import { OutputTail, ProcessGroup } from '../files/process-group.ts';
import { withoutOwnVariables } from './environment.ts';

/** The user's terminal while it is lent to a command. The command may prompt the user there. */
export interface LentTerminal {
  /** The file descriptor, which becomes the command's stdin. */
  readonly input: number;
  /** Shows a piece of the command's stderr. */
  write(chunk: Buffer): void;
  giveBack(): void;
}

export interface CommandTools {
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Pick<Clock, 'now' | 'sleepUntil'> & Partial<Pick<Clock, 'wallNow'>>;
}

export interface CommandEnd {
  readonly stdout: Buffer;
  /** The last non-empty line that the command wrote to stderr; empty if it wrote nothing. */
  readonly lastLine: string;
  /** A phrase for messages, such as `ended with exit code 1`. */
  readonly how: string;
  readonly isSuccess: boolean;
}

/** A command that runs longer is killed. */
const maxMs = 30_000;

const maxBytes = 65_536;

/** Splits at spaces, with a shell's quotes and backslashes. Throws an AutomateError (`usage`) for an open quote or without a command. */
export async function commandWords(line: string): Promise<[string, ...string[]]> {
  const { split } = await import('shlex');
  let words: string[];
  try {
    words = split(line);
  } catch {
    throw usageError('expected a command in which every quote is closed, and something after the last backslash');
  }
  const [program, ...args] = words;
  if (program === undefined || program === '') throw usageError('expected a command, found nothing');
  return [program, ...args];
}

/**
 * Runs without a shell and without automate's own variables until the command ends, even if a process that it started holds its stdout
 * open. If it takes too long or prints too much, it is killed with every process that it started. Without a `terminal`, its stdin is empty.
 */
export async function runCommand(
  words: readonly [string, ...string[]],
  { environment, clock }: CommandTools,
  terminal: LentTerminal | undefined,
): Promise<CommandEnd> {
  const tail = new OutputTail();
  const chunks: Buffer[] = [];
  const ended = new AbortController();
  let problem: string | undefined;
  let bytes = 0;
  const end = (how: string, isSuccess: boolean): CommandEnd => ({
    stdout: Buffer.concat(chunks),
    lastLine: tail.lines().split('\n').at(-1) ?? '',
    how: problem ?? how,
    isSuccess: isSuccess && problem === undefined,
  });
  let group: ProcessGroup | undefined;
  try {
    group = new ProcessGroup(words, { env: withoutOwnVariables(environment), shell: false, terminal: terminal?.input });
    const { child } = group;
    const kill = (reason: string) => {
      problem ??= reason;
      group?.signal('SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
    };
    void clock
      .sleepUntil(clock.now() + maxMs, ended.signal)
      .then(() => ended.signal.aborted || kill(`did not end within ${maxMs / 1000} s`));
    child.stdin?.on('error', () => {}).end();
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxBytes) kill('printed more than 64 KB');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      tail.add(chunk);
      terminal?.write(chunk);
    });
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    await readRest(child.stdout);
    return end(code === null ? `was killed by ${signal}` : `ended with exit code ${code}`, code === 0);
  } catch (error) {
    return end(`cannot be started: ${startProblem(error as Error, words[0])}`, false);
  } finally {
    ended.abort();
    group?.child.stdout?.destroy();
    group?.child.stderr?.destroy();
    group?.leave();
  }
}

/**
 * Reads what an ended command had written. Processes that it started may keep its stdout open, so the end may never come. Each turn of the
 * event loop reads everything that is there, and the first turn may already be half over.
 */
async function readRest(stdout: Readable): Promise<void> {
  let isReading = true;
  stdout.on('data', () => {
    isReading = true;
  });
  while (isReading && !stdout.destroyed) {
    isReading = false;
    await setImmediate();
    await setImmediate();
  }
}

/** Leaves out the program's name if it looks like a secret. */
function startProblem(error: Error, program: string): string {
  const shown = looksSecret(program) ? '' : ` "${program.replace(/=.*/s, '=...')}"`;
  const { code = error.message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no program${shown}`;
  return code === 'EACCES' ? `the program${shown} is not executable` : code;
}
