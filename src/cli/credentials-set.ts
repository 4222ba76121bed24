import { durationText, futureTime } from '../core/duration.ts';
import type { CodedMessage } from '../core/error-code.ts';
import { AutomateError, usageError } from '../core/failure.ts';
import { credentialName } from '../core/options/names.ts';
import { defaultEnv } from '../core/run-options.ts';
import { looksSecret } from '../core/text/secret-shapes.ts';
import { type BackendName, backendNames } from '../credentials/backend.ts';
import { commandWords } from '../credentials/command-run.ts';
import { openCredentials, type StoreOptions } from '../credentials/credential-store.ts';
import { checkedSecret, utf8Of, variableWith } from '../credentials/environment.ts';
import { hide, secretOfCommand } from '../credentials/flow-secrets.ts';
import type { StoredCommand, StoredCredential } from '../credentials/secret.ts';
import { isSecretVariable } from '../flow/secrets/secrets.ts';
import { envWords } from './advice.ts';
import { findAsker } from './ask.ts';
import type { CredentialsSetOptions } from './credentials-set-options.ts';
import type { Terminal } from './terminal.ts';

export async function setCommand(name: string, options: CredentialsSetOptions, terminal: Terminal): Promise<undefined> {
  const limits = checkedLimits(name, options);
  if (options.for !== undefined) throw usageError('--for needs a command, which is run again after that time: --command LINE');
  const wish = { ...limits, backend: backendOf(options.backend), replacesCommand: true };
  const store = openCredentials(options.env, terminal);
  const secret = await secretFrom(name);
  hide(secret, terminal);
  const { stored, left } = await store.set(name, secret, wish);
  saySet(stored, `is stored in the ${stored.backend}`, terminal);
  const { warn } = terminal;
  for (const backend of left) warn(`the old secret is still in the ${backend}, which cannot be reached here`);
  if (secret !== secret.trim()) warn('the secret begins or ends with spaces, which HTTP removes: is that intended?');
  if (/^Bearer /i.test(secret))
    warn('the secret begins with "Bearer ", which "auth: { type: bearer }" adds itself: store only the text after it');
  if (secret.length < 4) warn('a secret of fewer than 4 characters cannot be masked in the output');
}

function saySet(stored: StoredCredential, isStored: string, { say, warn }: Terminal): void {
  const { name, env, expiresAt, hosts, previous } = stored;
  const where = env === defaultEnv ? '' : `, for --env ${env}`;
  const expiry = expiresAt === undefined ? '' : `, until ${expiresAt.slice(0, 10)}`;
  const only = hosts === undefined ? '' : `, for ${hosts.join(', ')} only`;
  say(`"${name}" ${isStored}${where}${expiry}${only}`);
  if (previous)
    say(`the previous secret stays stored until this one has worked; to restore it: automate credentials restore ${name}${envWords(env)}`);
  const variable = variableWith(name, process.env);
  if (variable !== undefined) warn(`${variable} is set, and takes precedence`);
}

function checkedLimits(name: string, { expires, hosts }: CredentialsSetOptions): Pick<StoreOptions, 'expiresAt' | 'hosts'> {
  const { error } = credentialName.safeParse(name);
  if (error) throw usageError(error.issues[0]?.message ?? 'expected a name');
  return { expiresAt: expiryOf(expires), hosts: hostsOf(hosts) };
}

async function secretFrom(name: string): Promise<string> {
  if (!process.stdin.isTTY) return checkedSecret(await stdinText(), 'stdin');
  const asker = findAsker();
  if (!asker)
    throw usageError(`expected the secret on stdin: there is no terminal to prompt for it\nautomate credentials set ${name} < FILE`);
  return checkedSecret(await asker.secret(`Secret for "${name}"`), 'the answer');
}

const maxSecretBytes = 65_536;

async function stdinText(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxSecretBytes)
      throw new AutomateError('credential', `expected a secret on stdin, found more than ${maxSecretBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return utf8Of(Buffer.concat(chunks));
  } catch {
    throw new AutomateError('credential', 'expected a secret in UTF-8 on stdin');
  }
}

function expiryOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const end = /^\d+$/.test(text) ? undefined : futureTime(text, Date.now());
  if (end) return end.toISOString();
  throw usageError(`--expires: expected a duration such as 90d, or a future day such as 2030-12-31, found "${text}"`);
}

/** Undefined leaves the stored hosts unchanged, and `*` allows all hosts. */
function hostsOf(written: readonly string[] | undefined): string[] | undefined {
  if (written?.length === 0) throw hostExpected('');
  return written?.map((text) => (text === '*' ? text : hostOf(text)));
}

/** A host name in any script, or an IP address. */
const hostName = /^(?:[\p{L}\p{M}\p{N}._-]+|\[[0-9a-f:.]+\])$/iu;

/** Normalizes as URLs do: `127.1` becomes `127.0.0.1`, and non-Latin names become punycode. */
function hostOf(text: string): string {
  const [, wildcard = '', name = '', port = ''] = /^(\*\.)?([^/?#@\\*\s]*?)\.?(:\d{1,5})?$/.exec(text) ?? [];
  const url = `https://${name}`;
  if (!hostName.test(name) || !URL.canParse(url) || Number(port.slice(1) || 1) > 65_535 || Number(port.slice(1) || 1) === 0)
    throw hostExpected(text);
  return `${wildcard}${new URL(url).hostname}${port}`;
}

function hostExpected(text: string): AutomateError {
  return usageError(`--hosts: expected hosts such as api.example.com, api.example.com:8443 or *.example.com, found "${text}"`);
}

function backendOf(text: string | undefined): BackendName | undefined {
  const found = backendNames.find((name) => name === text);
  if (text === undefined || found) return found;
  throw usageError(`--backend: expected ${backendNames.join(' or ')}, found "${text}"`);
}

/** The command is run whenever the secret is needed, and prints it. */
export async function setSecretCommand(
  name: string,
  options: CredentialsSetOptions & { readonly command: string },
  terminal: Terminal,
): Promise<undefined> {
  const limits = checkedLimits(name, options);
  const { command, for: forMs, backend } = options;
  if (backend !== undefined) throw usageError('--command stores no secret: leave --backend out');
  const words = await commandWords(command).catch((error: Error) => {
    throw usageError(`--command: ${error.message}`);
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
}

/** A word that only a shell interprets (pipe, redirection, variable, home folder). Commands that print secrets run without a shell. */
const shellSign = /^(?:\|\|?|&&?|;|\d?[<>]{1,2}&?\d?|\$\{?\w+\}?|~(?:\/.*)?)$/;

/** True if the word is probably a secret, such as a token or the value in `--password=...`. `option` is the word before it. */
function holdsSecret(word: string, option: string): boolean {
  const [, name = '', value = ''] = /^-{0,2}([\w-]+)(?:=|:\s+)(.+)$/s.exec(word) ?? [];
  const [, before = ''] = word.startsWith('-') ? [] : (/^--?([\w-]+)$/.exec(option) ?? []);
  if (/^(?:u|user)$/.test(before) && word.includes(':')) return true;
  return looksSecret(word) || isSecretVariable(name, value) || isSecretVariable(before, word);
}

export async function tryCommand(
  command: StoredCommand,
  terminal: Terminal,
): Promise<{ readonly ms: number } | { readonly problem: CodedMessage }> {
  const startedMs = performance.now();
  try {
    await secretOfCommand(command, terminal);
    return { ms: performance.now() - startedMs };
  } catch (error) {
    // The advice in the error is left out, because it suggests trying the command, which the user has just done.
    if (error instanceof AutomateError) return { problem: { message: error.message } };
    throw error;
  }
}
