import { durationMs } from '../duration.ts';

/** The latest time that a Date can represent (ECMA-262, 21.4.1.1). */
const maxTime = 8.64e15;

/** Parses a future time: a duration from now, or a day, which stands for its end at midnight UTC. Returns undefined for any other text. */
export function futureTime(text: string, nowMs: number): Date | undefined {
  const endMs = nowMs + (durationMs(text) ?? Number.NaN);
  const end = endOfDay(text) ?? (endMs < maxTime ? new Date(endMs) : undefined);
  return end && end.getTime() > nowMs ? end : undefined;
}

/** Returns the end of a day in UTC; undefined for an invalid day, such as 2027-02-31. */
function endOfDay(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const end = new Date(`${text}T23:59:59Z`);
  return !Number.isNaN(end.getTime()) && end.toISOString().startsWith(text) ? end : undefined;
}

/** Parses a future time in RFC 3339 format, such as 2030-12-31T12:00:00Z; undefined for any other text. */
export function futureMoment(text: string, nowMs: number): Date | undefined {
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  const moment = endOfDay(day) && new Date(text.toUpperCase().replace(' ', 'T'));
  return moment && moment.getTime() > nowMs ? moment : undefined;
}
