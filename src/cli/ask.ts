import { closeSync, openSync, readFileSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { AutomateError } from '../core/failure.ts';

/** Asks the person at the terminal. Each throws an AutomateError (`cancelled`) when they would rather not answer. */
export interface Asker {
  /** What is typed is not shown. */
  secret(question: string, check?: Check): Promise<string>;
  text(question: string, how?: TextQuestion): Promise<string>;
  choice<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value>;
  yes(question: string): Promise<boolean>;
}

/** How a text is asked for. */
interface TextQuestion {
  /** What it may look like. */
  readonly placeholder?: string;
  /** What Enter alone answers. */
  readonly usual?: string;
  readonly check?: Check;
}

/** What is wrong with an answer; absent when nothing is. */
type Check = (answer: string) => string | undefined;

/** Whoever can be asked; absent when there is nobody: then nothing must wait for an answer. */
export function findAsker(): Asker | undefined {
  if (!process.stderr.isTTY || process.env.TERM === 'dumb' || !isInForeground()) return undefined;
  if (process.stdin.isTTY) return createAsker(() => process.stdin);
  return hasTerminal() ? createAsker(terminalBehindPipe) : undefined;
}

const terminalPath = '/dev/tty';

function hasTerminal(): boolean {
  try {
    closeSync(openSync(terminalPath, 'r'));
    return true;
  } catch {
    return false;
  }
}

let opened: ReadStream | undefined;

/** Where records come through stdin, the person is still at the terminal. Opened once: two readers would take each other's keys. */
function terminalBehindPipe(): ReadStream {
  opened ??= new ReadStream(openSync(terminalPath, 'r'));
  return opened;
}

/** A job in the background that reads from the terminal is stopped. The process group and that of the terminal are the 3rd and the 6th field behind the name (proc_pid_stat(5)). */
function isInForeground(): boolean {
  if (process.platform !== 'linux') return true;
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields[2] === fields[5];
}

function createAsker(open: () => ReadStream): Asker {
  return {
    secret: (message, check) =>
      asked(async ({ password }, streams) => password({ ...streams, message, mask: '*', validate: (answer) => checked(answer, check) })),
    text: async (message, { placeholder, usual, check } = {}) => {
      const shown = usual ?? placeholder;
      const options = { message, ...(shown !== undefined && { placeholder: shown }), ...(usual !== undefined && { defaultValue: usual }) };
      const validate = (answer: string | undefined) => checked(answer || usual, check);
      return (await asked(({ text }, streams) => text({ ...streams, ...options, validate }))).trim();
    },
    choice: (message, choices) => asked(({ select }, streams) => select({ ...streams, message, options: [...choices] as never })),
    yes: (message) => asked(({ confirm }, streams) => confirm({ ...streams, message, initialValue: false })),
  };

  async function asked<Answer>(
    ask: (prompts: typeof import('@clack/prompts'), streams: Streams) => Promise<Answer>,
  ): Promise<Exclude<Answer, symbol>> {
    const input = open();
    const giveUp = new AbortController();
    // The prompts take no notice of the end of their input, and would wait for ever.
    const onKey = (_: string, key?: { ctrl?: boolean; name?: string }) => key?.ctrl && key.name === 'd' && giveUp.abort();
    const onEnd = () => giveUp.abort();
    input.on('keypress', onKey).on('end', onEnd).on('close', onEnd);
    try {
      const streams = { input, output: process.stderr, withGuide: false, signal: giveUp.signal };
      const answer = await ask(await import('@clack/prompts'), streams);
      if (typeof answer === 'symbol') throw new AutomateError('cancelled', 'cancelled; nothing was changed');
      return answer as Exclude<Answer, symbol>;
    } finally {
      input.off('keypress', onKey).off('end', onEnd).off('close', onEnd);
      input.pause();
    }
  }
}

interface Streams {
  readonly input: ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly withGuide: boolean;
  readonly signal: AbortSignal;
}

function checked(
  answer: string | undefined,
  check: Check = (text) => (text === '' ? 'expected something, found nothing' : undefined),
): string | undefined {
  return check(answer?.trim() ?? '');
}
