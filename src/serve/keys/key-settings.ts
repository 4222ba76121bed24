import { durationMs, futureMoment, futureTime } from '../../core/duration.ts';
import { AutomateError, invalidOption, usageError } from '../../core/failure.ts';
import { defaultRate, defaultScopes, type KeyChanges, type KeySettings, rateOf, type Scope, scopes } from '../store/api-key.ts';
import { holdsKey } from '../store/key-value.ts';

/** The rights of a new API key, as strings written by the user. */
interface WrittenRights {
  readonly flows?: readonly string[];
  readonly scopes?: readonly string[];
  readonly rate?: string;
  readonly credits?: number;
  readonly expires?: string;
}

/** Throws an AutomateError (`usage`) if a setting is not valid. */
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

/** A value of null removes the limit. */
interface WrittenChanges {
  readonly flows?: readonly string[] | null;
  readonly rate?: string;
  readonly credits?: number | null;
  readonly expires?: string | null;
}

/** Throws an AutomateError (`usage`) if a value is not valid or nothing changes. */
export function keyChanges({ flows, rate, credits, expires }: WrittenChanges): KeyChanges {
  const changes = {
    ...(flows !== undefined && { flows: flows === null ? undefined : flowsOf(flows) }),
    ...(rate !== undefined && { rate: rateTextOf(rate) }),
    ...(credits !== undefined && { quota: credits ?? undefined }),
    ...(expires !== undefined && { expiresAtMs: expires === null ? undefined : expiryOf(expires) }),
  };
  if (Object.keys(changes).length > 0) return changes;
  throw new AutomateError('usage', 'expected a limit to change, found none', { code: 'nothing-to-change', details: {} });
}

const maxName = 64;

/** Characters that would break a line of output or reverse the direction of text. */
const unshowable = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

function checkedKeyName(text: string): string {
  if (holdsKey(text))
    throw usageError('expected a name, found the value of a key\nrevoke that key, because it is now in the history of your shell');
  if (text.trim() !== '' && [...text].length <= maxName && !unshowable.test(text)) return text;
  throw usageError(`expected a name of 1 to ${maxName} characters, without control characters, found ${JSON.stringify(text)}`);
}

const flowName = /^[A-Za-z0-9_-]{1,64}$/;

/** Checks the ids of flows, which are file names without extension. Throws an AutomateError (`usage`) if one is not valid. */
function flowsOf(written: readonly string[]): string[] {
  const wrong = written.find((flow) => !flowName.test(flow));
  if (wrong === undefined && written.length > 0) return [...new Set(written)];
  throw invalidOption('flows', `expected names of flow files without .yaml, such as enrich,geocode, found "${wrong ?? ''}"`);
}

function scopesOf(written: readonly string[]): Scope[] {
  const wrong = written.find((text) => !(scopes as readonly string[]).includes(text));
  if (wrong === undefined && written.length > 0) return scopes.filter((scope) => written.includes(scope));
  throw invalidOption('scopes', `expected ${scopes.join(', ')}, found "${wrong ?? ''}"`);
}

function rateTextOf(text: string = defaultRate): string {
  if (rateOf(text)) return text;
  throw invalidOption('rate', `expected a whole number of requests per s, min, h or d, such as 600/min, found "${text}"`);
}

function expiryOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const end = futureTime(text, Date.now()) ?? futureMoment(text, Date.now());
  if (end) return end.getTime();
  throw invalidOption(
    'expires',
    `expected a duration such as 90d, or a day or time in the future, such as 2030-12-31 or 2030-12-31T12:00:00Z, found "${text}"`,
  );
}

const maxOverlapMs = 7 * 86_400_000;

/** The time in ms for which a replaced API key stays valid. Throws an AutomateError (`usage`) if invalid or longer than 7 days. */
export function overlapOf(text = '24h'): number {
  const ms = durationMs(text);
  if (ms !== undefined && ms <= maxOverlapMs) return ms;
  throw invalidOption('overlap', `expected a duration from 0 to 7d, such as 24h, found "${text}"`);
}
