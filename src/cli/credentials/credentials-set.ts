import { futureTime } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import { credentialName } from '../../core/options/names.ts';
import { defaultEnv } from '../../core/run-options.ts';
import { type BackendName, backendNames } from '../../credentials/backend.ts';
import { openCredentials, type StoreOptions } from '../../credentials/credential-store.ts';
import { oneLine, utf8Of, variableWith } from '../../credentials/environment.ts';
import { hide } from '../../credentials/flow-secrets.ts';
import type { StoredCredential } from '../../credentials/secret.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { envWords } from '../advice.ts';
import { findAsker } from '../ask.ts';
import type { Terminal } from '../terminal.ts';
import type { CredentialsSetOptions } from './credential-options.ts';

/** Stores a secret that is read from a prompt or from stdin. Returns the exit code. */
export async function setCommand(name: string, options: CredentialsSetOptions, terminal: Terminal): Promise<number> {
  const limits = checkedLimits(name, options);
  if (options.for !== undefined)
    throw new AutomateError('usage', '--for needs a command, which is run again after that time: --command LINE');
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
  return exitCodes.success;
}

/** Prints a message about a stored credential, with its limits and its previous secret. Warns if an environment variable overrides it. */
export function saySet(stored: StoredCredential, isStored: string, { say, warn }: Terminal): void {
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

/** Returns the expiry time and the hosts that the options set. Throws an AutomateError (`usage`) if they or the name are not valid. */
export function checkedLimits(name: string, { expires, hosts }: CredentialsSetOptions): Pick<StoreOptions, 'expiresAt' | 'hosts'> {
  const { error } = credentialName.safeParse(name);
  if (error) throw new AutomateError('usage', error.issues[0]?.message ?? 'expected a name');
  return { expiresAt: expiryOf(expires), hosts: hostsOf(hosts) };
}

/** Reads a secret. If stdin is a terminal, asks the person for it. Otherwise reads it from stdin. */
async function secretFrom(name: string): Promise<string> {
  if (!process.stdin.isTTY) return oneLine(await stdinText(), 'stdin');
  const asker = findAsker();
  if (!asker)
    throw new AutomateError(
      'usage',
      `expected the secret on stdin: there is no terminal to prompt for it\nautomate credentials set ${name} < FILE`,
    );
  return oneLine(await asker.secret(`Secret for "${name}"`), 'the answer');
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

/** Parses an expiry time, which is written as a duration from now, or as the last valid day. */
function expiryOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const end = /^\d+$/.test(text) ? undefined : futureTime(text, Date.now());
  if (end) return end.toISOString();
  throw new AutomateError('usage', `--expires: expected a duration such as 90d, or a future day such as 2030-12-31, found "${text}"`);
}

/** Checks the hosts to which a secret may be sent. Undefined leaves the stored hosts unchanged, and `*` allows all hosts. */
function hostsOf(written: readonly string[] | undefined): string[] | undefined {
  if (written?.length === 0) throw hostExpected('');
  return written?.map((text) => (text === '*' ? text : hostOf(text)));
}

/** Matches a host name in any script, or an IP address. */
const hostName = /^(?:[\p{L}\p{M}\p{N}._-]+|\[[0-9a-f:.]+\])$/iu;

/** Normalizes a host name in the way URLs do. For example, `127.1` becomes `127.0.0.1`, and non-Latin names become punycode. */
function hostOf(text: string): string {
  const [, wildcard = '', name = '', port = ''] = /^(\*\.)?([^/?#@\\*\s]*?)\.?(:\d{1,5})?$/.exec(text) ?? [];
  const url = `https://${name}`;
  if (!hostName.test(name) || !URL.canParse(url) || Number(port.slice(1) || 1) > 65_535 || Number(port.slice(1) || 1) === 0)
    throw hostExpected(text);
  return `${wildcard}${new URL(url).hostname}${port}`;
}

function hostExpected(text: string): AutomateError {
  return new AutomateError(
    'usage',
    `--hosts: expected hosts such as api.example.com, api.example.com:8443 or *.example.com, found "${text}"`,
  );
}

function backendOf(text: string | undefined): BackendName | undefined {
  const found = backendNames.find((name) => name === text);
  if (text === undefined || found) return found;
  throw new AutomateError('usage', `--backend: expected ${backendNames.join(' or ')}, found "${text}"`);
}
