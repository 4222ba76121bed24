import { creditText, formatCount } from '../../core/text/number.ts';
import { type ApiKey, apiKeyJson, isoTime, keyState } from '../../serve/store/api-key.ts';
import type { KeyUsage } from '../../serve/store/usage.ts';
import { agoText } from './credentials.ts';
import { bar } from './credits.ts';

export interface ShownKey {
  readonly key: ApiKey;
  readonly lastUsedAtMs: number | undefined;
}

/** Leaves out the secret value. */
export function shownKeyJson({ key, lastUsedAtMs }: ShownKey, nowMs: number): object {
  return {
    ...apiKeyJson(key),
    state: keyState(key, nowMs),
    revoked_at: isoTime(key.revokedAtMs),
    last_used_at: isoTime(lastUsedAtMs),
    old_values: livingValues(key, nowMs).map(({ start, endsAtMs }) => ({ start, valid_until: isoTime(endsAtMs) })),
  };
}

/** The old values that are still accepted after the key was rotated. */
function livingValues(key: ApiKey, nowMs: number): ApiKey['replaced'] {
  return keyState(key, nowMs) === 'living' ? key.replaced.filter(({ endsAtMs }) => endsAtMs > nowMs) : [];
}

export function keyRows(shown: readonly ShownKey[], { nowMs, withState }: { nowMs: number; withState: boolean }): string[][] {
  return [
    ['name', 'key', ...(withState ? ['state'] : []), 'scopes', 'flows', 'rate', 'credits', 'expires', 'last used'],
    ...shown.map(({ key, lastUsedAtMs }) => [
      key.name,
      `${key.start}…`,
      ...(withState ? [keyState(key, nowMs)] : []),
      key.scopes.join(','),
      key.flows?.join(',') ?? 'all',
      key.rate,
      key.quota === undefined ? '-' : `${creditText(key.quota)}/month`,
      key.expiresAtMs === undefined ? 'never' : dayText(key.expiresAtMs),
      lastUsedAtMs === undefined ? 'never' : `${agoText(new Date(lastUsedAtMs).toISOString(), nowMs)} ago`,
    ]),
  ];
}

export function keyText({ key, lastUsedAtMs }: ShownKey, nowMs: number): string {
  const { name, id, start, scopes, flows, rate, quota, createdAtMs, expiresAtMs, revokedAtMs } = key;
  const facts: (readonly [string, string])[] = [
    ['name', name],
    ['id', id],
    ['key', `${start}…`],
    ['state', keyState(key, nowMs)],
    ['scopes', scopes.join(', ')],
    ['flows', flows?.join(', ') ?? 'all'],
    ['rate', rate],
    ['credits', quota === undefined ? 'no limit for this key' : `${creditText(quota)} a month`],
    ['created', momentText(createdAtMs)],
    ['expires', expiresAtMs === undefined ? 'never' : momentText(expiresAtMs)],
    ...(revokedAtMs === undefined ? [] : [['revoked', momentText(revokedAtMs)] as const]),
    ['last used', lastUsedAtMs === undefined ? 'never' : momentText(lastUsedAtMs)],
    ...livingValues(key, nowMs).map(({ start: old, endsAtMs }) => ['old value', `${old}… until ${momentText(endsAtMs)}`] as const),
  ];
  return facts.map(([label, text]) => `${`${label}:`.padEnd(11)}${text}`).join('\n');
}

export function rightsText({ scopes, flows, rate, quota, expiresAtMs }: ApiKey): string {
  const rights = `${scopes.length === 1 ? 'scope' : 'scopes'} ${scopes.join(', ')}`;
  const credits = quota === undefined ? '' : `, with ${creditText(quota)} credits a month`;
  const end = expiresAtMs === undefined ? 'does not expire' : `expires on ${momentText(expiresAtMs)}`;
  return `has the ${rights} for ${flows?.join(', ') ?? 'all flows'}, at ${rate}${credits}; it ${end}`;
}

/** The text is exact to the minute. */
export function momentText(wallMs = 0): string {
  return `${new Date(wallMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function dayText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

export interface MonthOfKey {
  readonly key: ApiKey;
  readonly month: string;
  readonly days: readonly KeyUsage[];
  readonly credits: number;
  readonly remaining: number | undefined;
}

function monthTotals({ days }: MonthOfKey) {
  const total = { requests: 0, refused: 0, records: 0, lastUsedAtMs: 0 };
  for (const { requests, refused, records, lastUsedAtMs = 0 } of days) {
    total.requests += requests;
    total.refused += refused;
    total.records += records;
    total.lastUsedAtMs = Math.max(total.lastUsedAtMs, lastUsedAtMs);
  }
  return total;
}

export function usageJson(shown: MonthOfKey): object {
  const { key, month, credits, remaining = null } = shown;
  const { requests, refused, records, lastUsedAtMs } = monthTotals(shown);
  const lastUsedAt = isoTime(lastUsedAtMs || undefined);
  return {
    id: key.id,
    name: key.name,
    month,
    requests,
    refused,
    records,
    credits,
    quota: key.quota ?? null,
    remaining,
    last_used_at: lastUsedAt,
  };
}

/** True if the key has spent credits but the server has not written its other counts yet. */
export function isUnwritten({ days, credits }: MonthOfKey): boolean {
  return days.length === 0 && credits > 0;
}

export function usageRows(shown: readonly MonthOfKey[], nowMs: number): string[][] {
  return withNumbers(
    ['name', 'requests', 'refused', 'records', 'credits', 'quota', 'left', 'last used'],
    shown.map((one) => {
      const { requests, refused, records, lastUsedAtMs } = monthTotals(one);
      const quota = one.key.quota === undefined ? '-' : creditText(one.key.quota);
      const left = one.remaining === undefined ? '-' : creditText(one.remaining);
      const used = lastUsedAtMs === 0 ? 'never' : `${agoText(new Date(lastUsedAtMs).toISOString(), nowMs)} ago`;
      if (isUnwritten(one)) return [one.key.name, '-', '-', '-', creditText(one.credits), quota, left, '-'];
      return [one.key.name, formatCount(requests), formatCount(refused), formatCount(records), creditText(one.credits), quota, left, used];
    }),
  );
}

export function dayRows(shown: MonthOfKey): string[][] {
  const most = Math.max(...shown.days.map(({ requests }) => requests));
  const { requests, refused, records } = monthTotals(shown);
  return withNumbers(
    ['day', 'requests', 'refused', 'records', 'credits', ''],
    [
      ...shown.days.map((day) => [
        day.day,
        formatCount(day.requests),
        formatCount(day.refused),
        formatCount(day.records),
        creditText(day.credits),
        bar(most === 0 ? 0 : day.requests / most, 30, ' '),
      ]),
      [shown.month, formatCount(requests), formatCount(refused), formatCount(records), creditText(shown.credits), ''],
    ],
  );
}

function withNumbers(head: readonly string[], rows: readonly (readonly string[])[]): string[][] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const isNumber = (column: number) => column > 0 && column < head.length - 1;
  return all.map((row) => row.map((cell, column) => (isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell)));
}
