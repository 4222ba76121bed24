import type { LentTerminal } from './command-run.ts';
import { createRedactor, type Redactor } from './redact.ts';

/** Prints the messages of an operation, with all secrets masked. A command prints to its terminal, a server to its log. */
export interface Messages {
  say(text: string): void;
  warn(message: string): void;
  readonly redactor: Redactor;
  /**
   * Returns an object that asks the person at the terminal for a passphrase or a login. Undefined if there is no such person, as in a
   * server.
   */
  findAsker?(): Asker | undefined;
  /** Lets a command that prints a secret use the terminal, because it might have to prompt the person. Undefined in a server. */
  lendTerminal?(): LentTerminal | undefined;
}

/** Asks questions at the terminal. Each method throws an AutomateError (`cancelled`) if the person cancels. */
export interface Asker {
  /** Asks for a string that is hidden while it is typed. */
  secret(question: string, check?: AnswerCheck): Promise<string>;
  text(question: string, options?: TextOptions): Promise<string>;
  choice<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value>;
  /** Lets the person choose any number of options. */
  several<Value extends string>(question: string, choices: readonly { readonly value: Value; readonly label: string }[]): Promise<Value[]>;
  yes(question: string): Promise<boolean>;
}

/** Options of a question that is answered with a string. */
export interface TextOptions {
  /** The answer if the person only presses Enter. The prompt shows this answer until the person types something. */
  readonly default?: string;
  readonly check?: AnswerCheck;
}

/** Returns the reason why an answer is not valid; undefined for a valid answer. */
export type AnswerCheck = (answer: string) => string | undefined;

/** Creates a Messages object that masks the secrets in `redactor` and passes each line to `say`. By default, the lines are discarded. */
export function createMessages(say: (text: string) => void = () => undefined, redactor: Redactor = createRedactor()): Messages {
  return {
    redactor,
    say: (text) => say(redactor.text(text)),
    warn: (message) => say(redactor.text(`warning: ${message}`)),
  };
}
