import { durationMs } from '../duration.ts';

/** The last time that a Date can hold (ECMA-262, 21.4.1.1). */
const maxTime = 8.64e15;

/** The future time that a duration from now on or a day in UTC, with its end, means; absent for any other text. */
export function futureTime(text: string, nowMs: number): Date | undefined {
  const endMs = nowMs + (durationMs(text) ?? Number.NaN);
  const end = endOfDay(text) ?? (endMs < maxTime ? new Date(endMs) : undefined);
  return end && end.getTime() > nowMs ? end : undefined;
}

/** The end of a day in UTC; absent for an invalid one, such as 2027-02-31. */
function endOfDay(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const end = new Date(`${text}T23:59:59Z`);
  return !Number.isNaN(end.getTime()) && end.toISOString().startsWith(text) ? end : undefined;
}

/** The future time in RFC 3339, such as 2030-12-31T12:00:00Z; absent for any other text. */
export function futureMoment(text: string, nowMs: number): Date | undefined {
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const moment = endOfDay(day) && new Date(text.toUpperCase().replace(' ', 'T'));
  return moment && moment.getTime() > nowMs ? moment : undefined;
}
