export const scopes = ['run', 'test', 'read'] as const;

export type Scope = (typeof scopes)[number];

export const defaultScopes: readonly Scope[] = ['run'];

export const defaultRate = '600/min';

export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Undefined for all flows. */
  readonly flows: readonly string[] | undefined;
  readonly rate: string;
  /** Credits per calendar month; undefined if the key has no such limit. */
  readonly quota: number | undefined;
  /** Wall-clock time; undefined if the key never expires. */
  readonly expiresAtMs: number | undefined;
}

/** If a limit is missing here, it stays unchanged. If it is undefined, it is removed. */
export type KeyChanges = Partial<Pick<KeySettings, 'flows' | 'rate' | 'quota' | 'expiresAtMs'>>;

/** An API key without its secret value. All times are in wall-clock ms. */
export interface ApiKey extends KeySettings {
  readonly id: string;
  /** The first characters of the key's value, which are not secret. */
  readonly start: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | undefined;
  /** True if the runs that were started with the key were stopped when the key was revoked. */
  readonly stopsRuns: boolean;
  /** Earlier values of the key that were replaced by rotations, with the newest first. */
  readonly replaced: readonly { readonly start: string; readonly endsAtMs: number }[];
}

/** A key is active (`living`) until it expires or is revoked. */
type KeyState = 'living' | 'expired' | 'revoked';

export function keyState({ revokedAtMs, expiresAtMs }: Pick<ApiKey, 'revokedAtMs' | 'expiresAtMs'>, wallMs: number): KeyState {
  if (revokedAtMs !== undefined) return 'revoked';
  return expiresAtMs !== undefined && expiresAtMs <= wallMs ? 'expired' : 'living';
}

export interface Rate {
  readonly requests: number;
  readonly windowMs: number;
}

const windows = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A higher number is probably a mistake, because it would limit nothing. */
const maxRequests = 1_000_000;

/** Parses a rate limit such as 600/min. Returns undefined if the text is not a valid rate. */
export function rateOf(written: string): Rate | undefined {
  const [, count, unit] = /^(\d{1,7})\/(s|min|h|d)$/.exec(written) ?? [];
  const requests = Number(count);
  if (!unit || requests < 1 || requests > maxRequests) return undefined;
  return { requests, windowMs: windows[unit as keyof typeof windows] };
}

/** For the output of commands and the server. `value` is the secret value of a new key, which is shown only once. */
export function apiKeyJson(key: ApiKey, value?: string) {
  const { id, name, start, scopes, flows = null, rate, quota = null, createdAtMs, expiresAtMs } = key;
  return {
    id,
    name,
    key: value,
    start,
    created_at: new Date(createdAtMs).toISOString(),
    expires_at: isoTime(expiresAtMs),
    scopes,
    flows,
    rate,
    credits: quota,
  };
}

/** RFC 3339 format; null if the time is undefined. */
export function isoTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}
