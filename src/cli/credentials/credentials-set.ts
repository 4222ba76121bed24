import { durationMs } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import { credentialName } from '../../core/options/names.ts';
import { type BackendName, backendNames } from '../../io/credentials/backend.ts';
import { oneLine, utf8Of, variableWith } from '../../io/credentials/environment.ts';
import { defaultEnv, envOption } from '../../io/credentials/secret.ts';
import { findAsker } from '../ask.ts';
import { exitCodes } from '../exit.ts';
import { hide } from '../flow/flow-secrets.ts';
import type { Terminal } from '../terminal.ts';
import { openCredentials } from './credential-store.ts';

/** The options of `automate credentials set`. */
export interface SetOptions {
  readonly env?: string;
  readonly expires?: string;
  readonly hosts?: readonly string[];
  readonly backend?: string;
}

/** Keeps a secret, which is asked for or read from stdin. Answers the exit code. */
export async function setCommand(name: string, options: SetOptions, terminal: Terminal): Promise<number> {
  checkName(name);
  const wish = { expiresAt: expiryOf(options.expires), hosts: hostsOf(options.hosts), backend: backendOf(options.backend) };
  const store = openCredentials(options.env, terminal);
  const secret = await secretFrom(name);
  hide(secret, terminal);
  const { stored, left } = await store.set(name, secret, wish);
  const where = `${stored.backend}${stored.env === defaultEnv ? '' : `, for --env ${stored.env}`}`;
  const expiry = stored.expiresAt === undefined ? '' : `, until ${stored.expiresAt.slice(0, 10)}`;
  const only = stored.hosts === undefined ? '' : `, for ${stored.hosts.join(', ')} only`;
  terminal.say(`"${name}" is kept in the ${where}${expiry}${only}`);
  if (stored.previous)
    terminal.say(
      `the one before it is kept until this one has succeeded; back to it: automate credentials restore ${name}${envOption(stored.env)}`,
    );
  const { warn } = terminal;
  for (const backend of left) warn(`the old secret is still in the ${backend}, which cannot be reached here`);
  const variable = variableWith(name, process.env);
  if (variable !== undefined) warn(`${variable} is set, and goes before it`);
  if (secret !== secret.trim()) warn('it begins or ends with blanks, which HTTP takes away: is that meant?');
  if (secret.length < 4) warn('so short a secret cannot be masked in what is written');
  return exitCodes.success;
}

function checkName(name: string): void {
  const { error } = credentialName.safeParse(name);
  if (error) throw new AutomateError('usage', error.issues[0]?.message ?? 'expected a name');
}

/** From the person at the terminal, else from stdin. */
async function secretFrom(name: string): Promise<string> {
  if (!process.stdin.isTTY) return oneLine(await stdinText(), 'stdin');
  const asker = findAsker();
  if (!asker)
    throw new AutomateError(
      'usage',
      `expected the secret on stdin: here nobody can be asked for it\nautomate credentials set ${name} < FILE`,
    );
  return oneLine(await asker.secret(`Secret for "${name}"`), 'the answer');
}

const longestSecret = 65_536;

async function stdinText(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > longestSecret) throw new AutomateError('credential', `expected a secret on stdin, found more than ${longestSecret} bytes`);
    chunks.push(chunk);
  }
  try {
    return utf8Of(Buffer.concat(chunks));
  } catch {
    throw new AutomateError('credential', 'expected a secret in UTF-8 on stdin');
  }
}

/** A duration from now on, or the last day. */
function expiryOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const endMs = /^\d+$/.test(text) ? Number.NaN : Date.now() + (durationMs(text) ?? Number.NaN);
  const end = validDay(text) ?? (endMs > Date.now() && endMs < lastMoment ? new Date(endMs) : undefined);
  if (end && end.getTime() > Date.now()) return end.toISOString();
  throw new AutomateError('usage', `--expires: expected a duration such as 90d, or a day to come such as 2030-12-31, found "${text}"`);
}

/** The last moment that a Date can hold (ECMA-262, 21.4.1.1). */
const lastMoment = 8.64e15;

/** The end of a day in UTC; absent for what is none, such as 2027-02-31. */
function validDay(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const end = new Date(`${text}T23:59:59Z`);
  return !Number.isNaN(end.getTime()) && end.toISOString().startsWith(text) ? end : undefined;
}

/** Absent for what is there already; `*` for all. */
function hostsOf(written: readonly string[] | undefined): string[] | undefined {
  if (written?.length === 0) throw noHost('');
  return written?.map((text) => (text === '*' ? text : hostOf(text)));
}

/** A name in any script, or an address. */
const hostName = /^(?:[\p{L}\p{M}\p{N}._-]+|\[[0-9a-f:.]+\])$/iu;

/** A host as URLs have it: `127.1` is `127.0.0.1`, and names are in punycode. */
function hostOf(text: string): string {
  const [, wildcard = '', name = '', port = ''] = /^(\*\.)?([^/?#@\\*\s]*?)\.?(:\d{1,5})?$/.exec(text) ?? [];
  const url = `https://${name}`;
  if (!hostName.test(name) || !URL.canParse(url) || Number(port.slice(1) || 1) > 65_535 || Number(port.slice(1) || 1) === 0)
    throw noHost(text);
  return `${wildcard}${new URL(url).hostname}${port}`;
}

function noHost(text: string): AutomateError {
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
