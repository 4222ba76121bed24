import { once } from 'node:events';
import { AutomateError } from '../../core/failure.ts';
import type { Clock } from '../../core/ports.ts';
import { holdsToken, isRandomText } from '../../core/template/token-text.ts';
import { OutputTail } from '../mcp/local/output-tail.ts';
import { ProcessGroup } from '../mcp/local/process-group.ts';
import { withoutOwnVariables } from './environment.ts';

/** The terminal of a person, lent to a command that may ask there. */
export interface LentTerminal {
  /** The file descriptor for the input of the command. */
  readonly input: number;
  /** Shows a part of what the command writes on stderr. */
  write(chunk: Buffer): void;
  /** Takes the terminal back. */
  giveBack(): void;
}

/** The surroundings of a command. */
export interface CommandTools {
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Pick<Clock, 'now' | 'sleepUntil'>;
}

/** The end of a command. */
export interface CommandEnd {
  readonly stdout: Buffer;
  /** The last line that is not empty; empty if there is none. */
  readonly lastLine: string;
  /** The end in words, with the exit code if there is one. */
  readonly how: string;
  readonly isSuccess: boolean;
}

/** Maximum duration of a command. */
const maxMs = 30_000;

const maxBytes = 65_536;

/** Splits a command line into words as a shell does: by blanks, quotes and backslashes. Nothing is expanded. Throws an AutomateError (`usage`). */
export async function commandWords(line: string): Promise<[string, ...string[]]> {
  const { split } = await import('shlex');
  let words: string[];
  try {
    words = split(line);
  } catch {
    throw new AutomateError('usage', 'expected a command in which every quote is closed, and something after the last backslash');
  }
  const [program, ...args] = words;
  if (program === undefined || program === '') throw new AutomateError('usage', 'expected a command, found nothing');
  return [program, ...args];
}

/**
 * Runs a command to its end, without a shell, and without our own variables. One that takes too long or writes too much is killed, with the
 * processes that it has started. `terminal`: undefined if no person can be asked; then its input is empty.
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
      .then(() => ended.signal.aborted || kill(`gave nothing within ${maxMs / 1000} s`));
    child.stdin?.on('error', () => {}).end();
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxBytes) kill('gave more than 64 KB');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      tail.add(chunk);
      terminal?.write(chunk);
    });
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return end(code === null ? `was ended by ${signal}` : `ended with exit code ${code}`, code === 0);
  } catch (error) {
    return end(`cannot be started: ${startProblem(error as Error, words[0])}`, false);
  } finally {
    ended.abort();
    group?.leave();
  }
}

/** A secret that was written in place of the program is not shown. */
function startProblem(error: Error, program: string): string {
  const shown = holdsToken(program) || isRandomText(program) ? '' : ` "${program.replace(/=.*/s, '=...')}"`;
  const { code = error.message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no program${shown}`;
  return code === 'EACCES' ? `the program${shown} may not be run` : code;
}
