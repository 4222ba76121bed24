import { closeSync, openSync, readFileSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { AutomateError } from '../core/failure.ts';
import type { AnswerCheck, Asker, TextOptions } from '../credentials/messages.ts';

/** Undefined if there is no terminal, or if this process is not allowed to read from it. */
export function findAsker(): Asker | undefined {
  if (!process.stderr.isTTY || process.env.TERM === 'dumb' || !isInForeground()) return undefined;
  if (process.stdin.isTTY) return createAsker(() => process.stdin);
  return hasTerminal() ? createAsker(openTerminal) : undefined;
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

let openedTerminal: ReadStream | undefined;

/** The terminal device, because stdin might contain records. Opened only once: two readers would take each other's key presses. */
function openTerminal(): ReadStream {
  openedTerminal ??= new ReadStream(openSync(terminalPath, 'r'));
  return openedTerminal;
}

/**
 * A background job would be suspended if it read from the terminal. Compares the process groups of this process and the terminal, which are
 * the 3rd and 6th field after the name in proc_pid_stat(5).
 */
function isInForeground(): boolean {
  if (process.platform !== 'linux') return true;
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields[2] === fields[5];
}

type OpenPrompt = () => ReadStream;

function createAsker(open: OpenPrompt): Asker {
  return {
    secret: (message, check) => askSecret(open, message, check),
    text: (message, options) => askText(open, message, options),
    choice: (message, choices) => prompt(open, ({ select }, streams) => select({ ...streams, message, options: [...choices] as never })),
    several: (message, choices) =>
      prompt(open, ({ multiselect }, streams) => multiselect({ ...streams, message, options: [...choices] as never, required: false })),
    line: (question) => askLine(open, question),
    yes: (message) => prompt(open, ({ confirm }, streams) => confirm({ ...streams, message, initialValue: false })),
  };
}

function askSecret(open: OpenPrompt, message: string, check?: AnswerCheck): Promise<string> {
  const validate = (answer: string | undefined) => checkAnswer(answer, check);
  return prompt(open, ({ password }, streams) => password({ ...streams, message, mask: '*', validate }));
}

async function askText(open: OpenPrompt, message: string, { default: defaultValue, check }: TextOptions = {}): Promise<string> {
  const options = { message, ...(defaultValue !== undefined && { placeholder: defaultValue, defaultValue }) };
  const validate = (answer: string | undefined) => checkAnswer(answer || defaultValue, check);
  return (await prompt(open, ({ text }, streams) => text({ ...streams, ...options, validate }))).trim();
}

async function askLine(open: OpenPrompt, question: string): Promise<string | undefined> {
  const { createInterface } = await import('node:readline');
  const input = open();
  const lines = createInterface({ input, output: process.stderr, terminal: true });
  try {
    return await new Promise((resolve) => {
      lines.once('SIGINT', () => lines.close());
      lines.once('close', () => {
        process.stderr.write('\n');
        resolve(undefined);
      });
      lines.question(`${question} `, resolve);
    });
  } finally {
    lines.removeAllListeners('close').close();
    input.pause();
  }
}

type Prompts = typeof import('@clack/prompts');

async function prompt<Answer>(
  open: OpenPrompt,
  ask: (prompts: Prompts, streams: Streams) => Promise<Answer>,
): Promise<Exclude<Answer, symbol>> {
  const input = open();
  const cancel = new AbortController();
  // Cancels the question on Ctrl-D and at the end of the input, because the prompts would ignore both and wait forever.
  const onKey = (_: string, key?: { ctrl?: boolean; name?: string }) => key?.ctrl && key.name === 'd' && cancel.abort();
  const onEnd = () => cancel.abort();
  input.on('keypress', onKey).on('end', onEnd).on('close', onEnd);
  try {
    const streams = { input, output: process.stderr, withGuide: false, signal: cancel.signal };
    const answer = await ask(await import('@clack/prompts'), streams);
    if (typeof answer === 'symbol') throw new AutomateError('cancelled', 'cancelled; nothing was changed');
    return answer as Exclude<Answer, symbol>;
  } finally {
    input.off('keypress', onKey).off('end', onEnd).off('close', onEnd);
    input.pause();
  }
}

interface Streams {
  readonly input: ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly withGuide: boolean;
  readonly signal: AbortSignal;
}

function checkAnswer(
  answer: string | undefined,
  check: AnswerCheck = (text) => (text === '' ? 'expected a value, found nothing' : undefined),
): string | undefined {
  return check(answer?.trim() ?? '');
}
