import { Chalk } from 'chalk';
import { createRedactor, type Redactor } from '../../io/secrets/redact.ts';
import type { Terminal } from '../terminal.ts';

/** A terminal without a person: what a run of the server says goes to `say`, with its secrets masked. */
export function createQuietTerminal(say: (text: string) => void = () => undefined, redactor: Redactor = createRedactor()): Terminal {
  return {
    colors: new Chalk({ level: 0 }),
    isLive: false,
    isUnattended: true,
    redactor,
    say: (text) => say(redactor.text(text)),
    warn: (message) => say(redactor.text(`warning: ${message}`)),
    print: async (text) => say(redactor.text(text)),
  };
}
