/** The rights that a key can have. */
export const scopes = ['run', 'test', 'read'] as const;

/** A right of a key: to run flows, to send test requests, to read all runs. */
export type Scope = (typeof scopes)[number];

/** The scopes of a key for which none were named. */
export const defaultScopes: readonly Scope[] = ['run'];

/** The rate of a key for which none was named. */
export const defaultRate = '600/min';

/** The settings of a key. */
export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Ids of the flows that it may use; absent for all. */
  readonly flows: readonly string[] | undefined;
  /** Requests per time, such as 600/min. */
  readonly rate: string;
  /** Credits a calendar month; absent for no limit of its own. */
  readonly quota: number | undefined;
  /** Wall time; absent for a key that does not expire. */
  readonly expiresAtMs: number | undefined;
}

/** A key without its value. Times are ms of the wall clock. */
export interface ApiKey extends KeySettings {
  readonly id: string;
  /** The first characters of its value. */
  readonly start: string;
  readonly createdAtMs: number;
  /** Absent for a key that was not revoked. */
  readonly revokedAtMs: number | undefined;
  /** True for a revoked key whose runs have to stop. */
  readonly stopsRuns: boolean;
  /** Values that a rotation has replaced, the newest first. */
  readonly replaced: readonly { readonly start: string; readonly endsAtMs: number }[];
}

/** The life of a key. */
export type KeyState = 'living' | 'expired' | 'revoked';

/** The state of a key at a moment. */
export function keyState({ revokedAtMs, expiresAtMs }: Pick<ApiKey, 'revokedAtMs' | 'expiresAtMs'>, wallMs: number): KeyState {
  if (revokedAtMs !== undefined) return 'revoked';
  return expiresAtMs !== undefined && expiresAtMs <= wallMs ? 'expired' : 'living';
}

/** Requests per window of time. */
export interface Rate {
  readonly requests: number;
  readonly windowMs: number;
}

const windows = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest rate, such as 1000000/s: more is no limit. */
const maxRequests = 1_000_000;

/** A written rate such as 600/min. Absent for any other text. */
export function rateOf(written: string): Rate | undefined {
  const [, count, unit] = /^(\d{1,7})\/(s|min|h|d)$/.exec(written) ?? [];
  const requests = Number(count);
  if (!unit || requests < 1 || requests > maxRequests) return undefined;
  return { requests, windowMs: windows[unit as keyof typeof windows] };
}

/** A key in JSON, as commands and the server show it. `key`: its value, shown once. */
export function apiKeyJson(key: ApiKey, value?: string) {
  const { id, name, start, scopes, flows = null, rate, quota = null, createdAtMs, expiresAtMs } = key;
  return {
    id,
    name,
    ...(value !== undefined && { key: value }),
    start,
    created_at: new Date(createdAtMs).toISOString(),
    expires_at: isoTime(expiresAtMs),
    scopes,
    flows,
    rate,
    credits: quota,
  };
}

/** A time in RFC 3339; null for none. */
export function isoTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}
