import type { LentTerminal } from './command-run.ts';
import { createRedactor, type Redactor } from './redact.ts';

/** Prints messages with all secrets masked. A command prints to its terminal, a server to its log. */
export interface Messages {
  say(text: string): void;
  warn(message: string): void;
  readonly redactor: Redactor;
  /** Asks the person at the terminal. Undefined if there is no such person, as in a server. */
  findAsker?(): Asker | undefined;
  /** Lends the terminal to a command that might have to prompt for its secret. Undefined in a server. */
  lendTerminal?(): LentTerminal | undefined;
}

/** Each method throws an AutomateError (`cancelled`) if the person cancels. */
export interface Asker {
  /** Hides the answer while it is typed. */
  secret(question: string, check?: AnswerCheck): Promise<string>;
  text(question: string, options?: TextOptions): Promise<string>;
  choice<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value>;
  several<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value[]>;
  yes(question: string): Promise<boolean>;
  /** Asks on one line. Undefined if the person cancels. */
  line(question: string): Promise<string | undefined>;
}

export interface TextOptions {
  /** The answer if the person only presses Enter. It is shown until the person types something. */
  readonly default?: string;
  readonly check?: AnswerCheck;
}

/** Returns the reason why an answer is not valid. */
export type AnswerCheck = (answer: string) => string | undefined;

/** By default, the lines are discarded. */
export function createMessages(say: (text: string) => void = () => undefined): Messages {
  const redactor = createRedactor();
  return {
    redactor,
    say: (text) => say(redactor.text(text)),
    warn: (message) => say(redactor.text(`warning: ${message}`)),
  };
}
