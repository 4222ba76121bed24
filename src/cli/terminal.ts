import { closeSync, openSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { Chalk, type ChalkInstance } from 'chalk';
import type { Messages } from '../app/messages.ts';
import { cleaned } from '../core/answer/response.ts';
import { AutomateError } from '../core/failure.ts';
import type { LentTerminal } from '../io/credentials/command-run.ts';
import { createRedactor, type Redactor } from '../io/secrets/redact.ts';
import { findAsker } from './ask.ts';

/** Prints the output of a command: its result on stdout, everything else on stderr. Masks secrets. */
export interface Terminal extends Messages {
  /** Prints the result of the command on stdout. Throws an AutomateError if stdout was closed or is full. */
  print(text: string): Promise<void>;
  /** Colours for stderr; level 0 if none are wanted. */
  readonly colors: ChalkInstance;
  /** True if stderr is a terminal that can show a spinner. */
  readonly isLive: boolean;
  /** Columns of the terminal that stdout is; undefined for a file or a pipe. */
  readonly width?: number | undefined;
  /** The progress that is shown, and that has to pause while the terminal is lent; undefined for none. */
  progress?: { pause?(): () => void } | undefined;
}

/** Makes the terminal of this process. NO_COLOR, FORCE_COLOR and TERM=dumb are respected. */
export function createTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  const redactor = createRedactor();
  // The window was closed, or the reader of a pipe has left: the run continues without output.
  stderr.on('error', () => {});
  fixSize(stderr);
  const isDumb = env.TERM === 'dumb';
  const colors = new Chalk({ level: wantsColor(env, stderr.isTTY && !isDumb) ? 1 : 0 });
  const say = (text: string) => void stderr.write(`${harmless(redactor.text(text), colors)}\n`);
  const terminal: Terminal = {
    colors,
    width: stdout.isTTY ? stdout.columns || undefined : undefined,
    isLive: stderr.isTTY && !isDumb && env.CI === undefined,
    redactor,
    findAsker,
    lendTerminal: () => (findAsker() ? lend(redactor, terminal.progress?.pause?.()) : undefined),
    say,
    warn: (message) => say(`${colors.yellow('warning:')} ${message}`),
    print: (text) => printOn(stdout, redactor.text(text)),
  };
  return terminal;
}

/** Lends the terminal to a command, whose lines on stderr are shown as they come. `resume`: shows the progress again. */
function lend(redactor: Redactor, resume: (() => void) | undefined): LentTerminal {
  const opened = openedTerminal();
  const decoder = new StringDecoder('utf8');
  return {
    input: opened ?? 0,
    write: (chunk) => void process.stderr.write(redactor.text(decoder.write(chunk))),
    giveBack() {
      if (opened !== undefined) closeSync(opened);
      resume?.();
    },
  };
}

/** The terminal itself: records may come through stdin. Undefined where it has no name, as on Windows. */
function openedTerminal(): number | undefined {
  try {
    return openSync('/dev/tty', 'r');
  } catch {
    return undefined;
  }
}

/** Says the format that stdin was found to have. */
export function sayFormat({ say }: Terminal): (format: string) => void {
  return (format) => say(`reading stdin as ${format} (--in-format reads it as another format)`);
}

function printOn(stdout: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(stdoutError(error));
    const finish = (error?: Error | null) => {
      if (error) return fail(error);
      stdout.off('error', fail);
      return resolve();
    };
    stdout.once('error', fail);
    stdout.write(`${stdout.isTTY ? cleaned(text) : text}\n`, finish);
  });
}

/** Gives a terminal without a size the default one: it reports 0, and the spinner divides by it. */
function fixSize(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return;
  for (const [side, fallback] of [
    ['columns', 80],
    ['rows', 24],
  ] as const) {
    let size = stream[side];
    Object.defineProperty(stream, side, {
      configurable: true,
      enumerable: true,
      get: () => size || fallback,
      set: (now: number) => {
        size = now;
      },
    });
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with ESC
const color = /(\x1b\[\d{1,2}m)/;

/** Removes control characters, which could steer the terminal. Only colours remain, if they are wanted. */
function harmless(text: string, { level }: ChalkInstance): string {
  if (level === 0) return cleaned(text);
  const parts = text.split(color);
  return parts.map((part, index) => (index % 2 === 0 ? cleaned(part) : part)).join('');
}

function wantsColor(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return isTerminal;
}

function stdoutError(error: Error): AutomateError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EPIPE') return new AutomateError('stdout-closed', 'stdout was closed');
  return new AutomateError('output', `stdout cannot be written: ${error.message}`);
}
