import { closeSync, openSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { Chalk, type ChalkInstance } from 'chalk';
import { cleaned } from '../core/answer/response.ts';
import { AutomateError } from '../core/failure.ts';
import { escapedControls } from '../core/text/quoted-word.ts';
import type { Value } from '../core/value/value.ts';
import type { LentTerminal } from '../credentials/command-run.ts';
import type { Messages } from '../credentials/messages.ts';
import { createRedactor, type Redactor } from '../credentials/redact.ts';
import { createStreamSink } from '../output/sink.ts';
import type { InputNote } from '../records/source.ts';
import { messageWithAdvice } from './advice.ts';
import { findAsker } from './ask.ts';

/** Masks secrets. The result of a command goes to stdout, everything else to stderr. */
export interface Terminal extends Messages {
  /** Prints to stdout. Throws an AutomateError if stdout is closed or the disk is full. */
  print(text: string): Promise<void>;
  /** Colors for text on stderr. At level 0, text has no colors. */
  readonly colors: ChalkInstance;
  /** True if stderr is a terminal that can show a spinner. */
  readonly isLive: boolean;
  /** Columns of stdout; undefined if it is a file or a pipe. */
  readonly width?: number;
  progress?: { pause?(): () => void } | undefined;
}

/** Respects NO_COLOR, FORCE_COLOR and TERM=dumb. */
export function createTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  const redactor = createRedactor();
  // Errors on stderr are ignored. If the window is closed or the reader of a pipe exits, the run continues without messages.
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

/** Shows the lines that the command prints to stderr. `resume` brings back the display of the run's progress. */
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

/** Needed because stdin might contain records. Undefined on systems where the device has no name, such as Windows. */
function openedTerminal(): number | undefined {
  try {
    return openSync('/dev/tty', 'r');
  } catch {
    return undefined;
  }
}

export function sayFormat({ say }: Terminal): (format: string) => void {
  return (format) => say(`reading stdin as ${format} (to read it as a different format, use --in-format)`);
}

/** Tells what the reader of an input has found out. */
export function sayNote({ say, warn }: Terminal): (note: InputNote) => void {
  return (note) => {
    if (note.of === 'warning') return warn(messageWithAdvice(note.warning).replaceAll('\n', '\n  '));
    const separator = note.delimiter === '\t' ? 'tabs' : `"${note.delimiter}"`;
    return say(`reading ${note.name} as CSV with ${separator} between cells (to read it in a different way, use --delimiter)`);
  };
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

/** Sets a default size for a terminal that reports 0, because the spinner divides by the size. */
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: a color begins with ESC
const color = /(\x1b\[\d{1,2}m)/;

/** Removes control characters, which could change the terminal. Keeps colors if they are enabled. */
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

export function indentedJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Masks secrets so that the JSON stays valid. Throws an AutomateError if stdout is closed or the disk is full. */
export function printJson(value: Value, { redactor }: Terminal): Promise<void> {
  const masked = escapedControls(redactor.jsonOf(value));
  // The terminal's print() is not used, because it would mask secrets as in plain text, which could make the JSON invalid.
  return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(`${masked}\n`);
}
