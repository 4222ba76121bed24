import { durationText } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import { holdsToken, isRandomText } from '../../core/template/token-text.ts';
import { commandWords } from '../../credentials/command-run.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { isSecretVariable } from '../../flow/secrets/secrets.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { envWords } from '../advice.ts';
import type { Terminal } from '../terminal.ts';
import type { CredentialsSetOptions } from './credential-options.ts';
import { checkedLimits, saySet } from './credentials-set.ts';

/** Stores a command line. The command is run whenever the secret is needed, and prints the secret. Returns the exit code. */
export async function setSecretCommand(
  name: string,
  options: CredentialsSetOptions & { readonly command: string },
  terminal: Terminal,
): Promise<number> {
  const limits = checkedLimits(name, options);
  const { command, for: forMs, backend } = options;
  if (backend !== undefined) throw new AutomateError('usage', '--command stores no secret: leave --backend out');
  const words = await commandWords(command).catch((error: Error) => {
    throw new AutomateError('usage', `--command: ${error.message}`);
  });
  const stored = await openCredentials(options.env, terminal).setCommand(name, command, { forMs, ...limits });
  const again = forMs === undefined ? '' : `, and again after ${durationText(forMs)}`;
  saySet(stored, `gets its secret from a command, which runs when a request needs it${again}`, terminal);
  const { say, warn } = terminal;
  if (words.some((word, index) => holdsSecret(word, words[index - 1] ?? '')))
    warn(
      'the command line contains what looks like a secret, and is stored as you wrote it: let the command read the secret from elsewhere',
    );
  const forShell = words.find((word) => shellSign.test(word));
  if (forShell !== undefined)
    warn(`the command is not run by a shell, so ${forShell} is passed on as written; to run it in a shell: sh -c '...'`);
  say(`try it: automate credentials check ${name}${envWords(stored.env)}`);
  return exitCodes.success;
}

/**
 * Matches a word that only a shell interprets, such as a pipe, a list operator, a redirection, a variable, or a home folder. Commands that
 * print secrets are run without a shell.
 */
const shellSign = /^(?:\|\|?|&&?|;|\d?[<>]{1,2}&?\d?|\$\{?\w+\}?|~(?:\/.*)?)$/;

/**
 * True if the word is probably a secret, such as a token, a random string, or the value in `--password=...`. `option` is the word before it
 * on the command line.
 */
function holdsSecret(word: string, option: string): boolean {
  const [, name = '', value = ''] = /^-{0,2}([\w-]+)(?:=|:\s+)(.+)$/s.exec(word) ?? [];
  const [, before = ''] = word.startsWith('-') ? [] : (/^--?([\w-]+)$/.exec(option) ?? []);
  if (/^(?:u|user)$/.test(before) && word.includes(':')) return true;
  return holdsToken(word) || isRandomText(word) || isSecretVariable(name, value) || isSecretVariable(before, word);
}
