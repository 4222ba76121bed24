import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { exitCodes } from '../../app/exit-codes.ts';
import { durationMs } from '../../core/duration.ts';
import { futureMoment, futureTime } from '../../core/expiry.ts';
import { AutomateError } from '../../core/failure.ts';
import { homeFolder } from '../../io/files/home.ts';
import { apiKeyJson, defaultRate, defaultScopes, type KeySettings, rateOf, type Scope, scopes } from '../../io/server/api-key.ts';
import { holdsKey } from '../../io/server/key-value.ts';
import type { MadeKey } from '../../io/server/keys.ts';
import { lastServer } from '../../io/server/running-server.ts';
import { momentText, rightsText } from '../show/keys.ts';
import type { Terminal } from '../terminal.ts';
import type { CreateOptions, RotateOptions } from './key-options.ts';
import { withKey, withKeys } from './stored-keys.ts';

/** Makes a key and prints it. Returns the exit code. */
export async function createCommand(name: string, options: CreateOptions, terminal: Terminal): Promise<number> {
  const settings = keySettings(name, options);
  const made = withKeys(({ keys }) => keys.create(settings));
  try {
    await printValue(made, options, terminal);
  } catch (error) {
    // Nobody has seen its value.
    withKeys(({ keys }) => keys.revoke(made.key.id, { stopRuns: false }));
    throw error;
  }
  terminal.say(`the key "${name}" ${rightsText(made.key)}`);
  sayOnce(terminal);
  warnOfFlows(settings.flows ?? [], terminal);
  return exitCodes.success;
}

/** The options of a new key. */
type WrittenRights = { readonly [Name in Exclude<keyof CreateOptions, 'json'>]?: CreateOptions[Name] | undefined };

/** The settings of a new key as they were written. Throws an AutomateError (`usage`). */
export function keySettings(name: string, { flows, scopes: rights, rate, credits, expires }: WrittenRights): KeySettings {
  return {
    name: checkedKeyName(name),
    scopes: rights ? scopesOf(rights) : defaultScopes,
    flows: flows && flowsOf(flows),
    rate: rateTextOf(rate),
    quota: credits,
    expiresAtMs: expiryOf(expires),
  };
}

/** Gives a key a new value and prints it. Returns the exit code. */
export async function rotateCommand(name: string, options: RotateOptions, terminal: Terminal): Promise<number> {
  const overlapMs = overlapOf(options.overlap);
  const made = withKey(name, ({ keys }) => keys.rotate(name, overlapMs));
  await printValue(made, options, terminal);
  const [old] = made.key.replaced;
  const until = overlapMs === 0 ? 'is no longer valid' : `stays valid until ${momentText(old?.endsAtMs)}`;
  terminal.say(`the key "${made.key.name}" has a new value; the old one (${old?.start}…) ${until}`);
  sayOnce(terminal);
  return exitCodes.success;
}

function printValue({ key, value }: MadeKey, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<void> {
  return terminal.print(json ? JSON.stringify(apiKeyJson(key, value), null, 2) : value);
}

function sayOnce(terminal: Terminal): void {
  terminal.say('its value is shown only now and stored nowhere: put it where the program reads it');
}

const maxName = 64;

/** Characters that would break a line, or show it in another order. */
const unshowable = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

function checkedKeyName(text: string): string {
  if (holdsKey(text))
    throw new AutomateError('usage', 'expected a name, found the value of a key\nrevoke that key: it is in the history of the shell now');
  if (text.trim() !== '' && [...text].length <= maxName && !unshowable.test(text)) return text;
  throw new AutomateError(
    'usage',
    `expected a name of 1 to ${maxName} characters, without control characters, found ${JSON.stringify(text)}`,
  );
}

const flowName = /^[A-Za-z0-9_-]{1,64}$/;

/** The ids of flows: the names of their files without ending. */
function flowsOf(written: readonly string[]): string[] {
  const wrong = written.find((flow) => !flowName.test(flow));
  if (wrong === undefined && written.length > 0) return [...new Set(written)];
  throw new AutomateError('usage', `--flows: expected names of flow files without .yaml, such as enrich,geocode, found "${wrong ?? ''}"`);
}

function scopesOf(written: readonly string[]): Scope[] {
  const wrong = written.find((text) => !(scopes as readonly string[]).includes(text));
  if (wrong === undefined && written.length > 0) return scopes.filter((scope) => written.includes(scope));
  throw new AutomateError('usage', `--scopes: expected ${scopes.join(', ')}, found "${wrong ?? ''}"`);
}

function rateTextOf(text: string = defaultRate): string {
  if (rateOf(text)) return text;
  throw new AutomateError('usage', `--rate: expected a whole number of requests per s, min, h or d, such as 600/min, found "${text}"`);
}

function expiryOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const end = futureTime(text, Date.now()) ?? futureMoment(text, Date.now());
  if (end) return end.getTime();
  throw new AutomateError(
    'usage',
    `--expires: expected a duration such as 90d, or a day or time in the future, such as 2030-12-31 or 2030-12-31T12:00:00Z, found "${text}"`,
  );
}

const maxOverlapMs = 7 * 86_400_000;

/** The ms for which a replaced value lives on, at most 7 days. Throws an AutomateError (`usage`). */
export function overlapOf(text = '24h'): number {
  const ms = durationMs(text);
  if (ms !== undefined && ms <= maxOverlapMs) return ms;
  throw new AutomateError('usage', `--overlap: expected a duration from 0 to 7d, such as 24h, found "${text}"`);
}

/** Warns of flows that are not in the folder of the server; before its first start, in the present folder. */
function warnOfFlows(flows: readonly string[], { warn }: Terminal): void {
  const server = lastServer(homeFolder(process.env));
  const folder = resolve(server?.folder ?? '.');
  const missing = flows.filter((flow) => !['.yaml', '.yml'].some((end) => existsSync(join(folder, flow + end))));
  const where = server ? `${folder}, which the server serves` : 'the present folder';
  for (const flow of missing) warn(`there is no flow "${flow}" in ${where}: the key may use it once the server has it`);
}
