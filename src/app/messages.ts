import type { LentTerminal } from '../io/credentials/command-run.ts';
import { createRedactor, type Redactor } from '../io/secrets/redact.ts';

/** Takes the lines that a use case prints while it works, with every secret masked. The terminal is one; the log of a server is another. */
export interface Messages {
  /** Prints a line. */
  say(text: string): void;
  /** Prints a warning. */
  warn(message: string): void;
  /** Holds the secrets to mask. */
  readonly redactor: Redactor;
  /** Finds the person who can be asked for a passphrase or a login. Undefined in a server, where no person can answer. */
  findAsker?(): Asker | undefined;
  /** Lends the terminal to a command that gives a secret, and may ask the person for it. Undefined in a server. */
  lendTerminal?(): LentTerminal | undefined;
}

/** Asks the person at the terminal. Each method throws an AutomateError (`cancelled`) if the person cancels. */
export interface Asker {
  /** Hides what is typed. */
  secret(question: string, check?: AnswerCheck): Promise<string>;
  text(question: string, options?: TextOptions): Promise<string>;
  choice<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value>;
  /** Lets the person choose any number of them. */
  several<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value[]>;
  yes(question: string): Promise<boolean>;
}

/** Options of a question that is answered with a text. */
export interface TextOptions {
  /** The answer of Enter alone, shown until something is typed. */
  readonly default?: string;
  readonly check?: AnswerCheck;
}

/** Returns the problem of an answer; undefined if there is none. */
export type AnswerCheck = (answer: string) => string | undefined;

/** Messages that go to `say`, by default nowhere, with their secrets masked. */
export function createMessages(say: (text: string) => void = () => undefined, redactor: Redactor = createRedactor()): Messages {
  return {
    redactor,
    say: (text) => say(redactor.text(text)),
    warn: (message) => say(redactor.text(`warning: ${message}`)),
  };
}
