import { Chalk, type ChalkInstance } from 'chalk';
import { cleaned } from '../core/answer/response.ts';
import { AutomateError } from '../core/failure.ts';
import { createRedactor, type Redactor } from '../io/secrets/redact.ts';

/** Where a command speaks. */
export interface Terminal {
  /** What was asked for, on stdout. Throws an AutomateError when stdout was closed or is full. */
  print(text: string): Promise<void>;
  /** Everything else, on stderr. */
  tell(text: string): void;
  /** Colours for stderr, none where none are wanted. */
  readonly colors: ChalkInstance;
  /** Whether stderr is a terminal that can show a spinner. */
  readonly isLive: boolean;
  /** Knows the secrets that nothing printed may hold. */
  readonly redactor: Redactor;
}

/** Makes the terminal of this process. NO_COLOR, FORCE_COLOR and TERM=dumb are respected. */
export function createTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  const redactor = createRedactor();
  // The window was closed, or the reader of a pipe has left: nobody hears us any more, and the run goes on.
  stderr.on('error', () => {});
  widen(stderr);
  const isDumb = env.TERM === 'dumb';
  const colors = new Chalk({ level: wantsColor(env, stderr.isTTY && !isDumb) ? 1 : 0 });
  return {
    colors,
    isLive: stderr.isTTY && !isDumb && env.CI === undefined,
    redactor,
    tell: (text) => void stderr.write(`${harmless(redactor.text(text), colors)}\n`),
    print: (text) =>
      new Promise((resolve, reject) => {
        const failed = (error: Error) => reject(stdoutError(error));
        stdout.once('error', failed);
        const shown = stdout.isTTY ? cleaned(redactor.text(text)) : redactor.text(text);
        stdout.write(`${shown}\n`, (error) => {
          if (error) return failed(error);
          stdout.off('error', failed);
          return resolve();
        });
      }),
  };
}

/** A window whose size nobody has set says 0, and what is drawn there divides by it. */
function widen(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return;
  for (const [side, usual] of [
    ['columns', 80],
    ['rows', 24],
  ] as const) {
    let size = stream[side];
    Object.defineProperty(stream, side, {
      configurable: true,
      enumerable: true,
      get: () => size || usual,
      set: (now: number) => {
        size = now;
      },
    });
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
const color = /(\x1b\[\d{1,2}m)/;

/** What files and servers say must not steer a terminal: only colours get through, and only where they are wanted. */
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
