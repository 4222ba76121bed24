/** The rights that a key can have. */
export const scopes = ['run', 'test', 'read'] as const;

/** A right of a key: to run flows, to send test requests, to read all runs. */
export type Scope = (typeof scopes)[number];

/** The default scopes of a key. */
export const defaultScopes: readonly Scope[] = ['run'];

/** The default rate of a key. */
export const defaultRate = '600/min';

/** The settings of a key. */
export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Ids of the flows that the key may use; undefined for all flows. */
  readonly flows: readonly string[] | undefined;
  /** Requests per time, such as 600/min. */
  readonly rate: string;
  /** Credits a calendar month; undefined for no limit of its own. */
  readonly quota: number | undefined;
  /** Wall time; undefined for a key that does not expire. */
  readonly expiresAtMs: number | undefined;
}

/** New limits of a key. A limit that is absent stays; undefined lifts it. */
export type KeyChanges = Partial<Pick<KeySettings, 'flows' | 'rate' | 'quota' | 'expiresAtMs'>>;

/** A key without its value. Times are ms of the wall clock. */
export interface ApiKey extends KeySettings {
  readonly id: string;
  /** The first characters of its value. */
  readonly start: string;
  readonly createdAtMs: number;
  /** Undefined for a key that is not revoked. */
  readonly revokedAtMs: number | undefined;
  /** True for a revoked key whose runs must stop. */
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

/** Maximum of requests in a rate. A higher rate would be no limit. */
const maxRequests = 1_000_000;

/** Reads a rate such as 600/min. Returns undefined for any other text. */
export function rateOf(written: string): Rate | undefined {
  const [, count, unit] = /^(\d{1,7})\/(s|min|h|d)$/.exec(written) ?? [];
  const requests = Number(count);
  if (!unit || requests < 1 || requests > maxRequests) return undefined;
  return { requests, windowMs: windows[unit as keyof typeof windows] };
}

/** A key as JSON, as commands and the server show it. `value`: the value of a new key, shown once as `key`. */
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

/** Writes a time as RFC 3339; null for undefined. */
export function isoTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}
