/** The maximum delay of a Node.js timer in ms, about 24 days. */
export const longestTimerMs = 2 ** 31 - 1;

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as `250ms`, `1s`, `5m`, `24h`, `7d`, or an integer of ms, into ms; undefined for any other text. */
export function durationMs(written: string | number): number | undefined {
  if (typeof written === 'number') return Number.isInteger(written) && written >= 0 ? written : undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(written.trim());
  if (match) return Math.round(Number(match[1]) * (unitMs[match[2] as string] as number));
  return /^\d+$/.test(written.trim()) ? Number(written) : undefined;
}

/** Parses a rate such as `10/s`, `600/min` or `5000/h` into the ms between two calls; undefined for any other text. */
export function rateIntervalMs(written: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*\/\s*(s|sec|m|min|h|d)$/.exec(written.trim());
  if (!match || Number(match[1]) <= 0) return undefined;
  return (unitMs[(match[2] as string).charAt(0)] as number) / Number(match[1]);
}

/** Formats calls per second as a rate that `rateIntervalMs` reads: `470/s`, `2.5/s`, `30/min`, `5/h`. Rounds down. */
export function rateText(perSecond: number): string {
  const down = (count: number) => (count >= 10 ? Math.floor(count) : Math.floor(count * 10) / 10);
  if (perSecond >= 1) return `${down(perSecond)}/s`;
  return perSecond * 60 >= 1 ? `${down(perSecond * 60)}/min` : `${Math.max(0.1, down(perSecond * 3600))}/h`;
}

/** Formats a duration for people: `340 ms`, `4 s`, `4.2 s`, `3 min 12 s`, `5 min`, `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  return twoUnits(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min');
}

function twoUnits(count: number, unit: string, rest: number, smallerUnit: string): string {
  return rest === 0 ? `${count} ${unit}` : `${count} ${unit} ${rest} ${smallerUnit}`;
}

/** The latest time that a Date can represent (ECMA-262, 21.4.1.1). */
const maxTime = 8.64e15;

/** Parses a duration from now, or a day, which stands for its end at midnight UTC. */
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
