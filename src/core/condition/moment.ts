import { inQuotes } from '../answer/response.ts';

const date = String.raw`(?<year>\d{4})(?:-?W(?<week>\d\d)-?(?<weekday>\d)|-(?<month>\d\d)-(?<day>\d\d)|(?<month2>\d\d)(?<day2>\d\d)|-?(?<ordinal>\d{3}))`;
const time = String.raw`(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d))?)?(?:[.,](?<fraction>\d+))?`;
const zone = String.raw`(?<zone>[Zz]|(?<sign>[+\-\u2212])(?<zoneHour>\d\d)(?::?(?<zoneMinute>\d\d))?)`;

/** RFC 3339, and the forms of ISO 8601 that name a day. A blank in place of T, and before the zone, is common in databases and logs. */
const moment = new RegExp(`^${date}(?:[Tt ]${time}(?: ?${zone})?)?$`);

const msPer = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** Returns the time in the only form that the CEL library reads in every case. A time without a zone is UTC. Throws an Error. */
export function isoMoment(text: string): string {
  const parts = moment.exec(text)?.groups;
  const ms = parts && msOf(parts);
  if (ms !== undefined && ms >= -62_135_596_800_000 && ms <= 253_402_300_799_999) return new Date(ms).toISOString();
  const seconds = /^\d{9,11}$/.test(text) ? '\nfor seconds since 1970, write timestamp(int(...))' : '';
  throw new Error(`expected a time such as 2026-11-28, 2026-11-28T08:53Z or 2026-11-28 09:53:00+01:00, found ${inQuotes(text)}${seconds}`);
}

type MomentParts = Readonly<Record<string, string | undefined>>;

/** In ms since 1970; undefined for a day or time that does not exist. */
function msOf(parts: MomentParts): number | undefined {
  const [day, time, ahead] = [dayOf(parts), timeOf(parts), aheadOf(parts)];
  return day === undefined || time === undefined || ahead === undefined ? undefined : day + time - ahead;
}

/** In ms since midnight. A fraction is one of the last unit that is written. */
function timeOf({ hour = '0', minute, second, fraction = '0' }: MomentParts): number | undefined {
  const [hours, minutes, seconds] = [Number(hour), Number(minute ?? 0), Number(second ?? 0)];
  const last = second !== undefined ? msPer.second : minute !== undefined ? msPer.minute : msPer.hour;
  const ms = hours * msPer.hour + minutes * msPer.minute + seconds * msPer.second + Math.floor(Number(`0.${fraction}`) * last + 1e-6);
  // 24:00 is the end of a day (ISO 8601), and a leap second is 60 (RFC 3339).
  const isMidnight = hours === 24 && ms === msPer.day && Number(fraction) === 0;
  return isMidnight || (hours < 24 && minutes < 60 && seconds <= 60) ? ms : undefined;
}

/** In ms that the zone is ahead of UTC. */
function aheadOf({ sign, zoneHour = '0', zoneMinute = '0' }: MomentParts): number | undefined {
  const [hours, minutes] = [Number(zoneHour), Number(zoneMinute)];
  if (hours > 23 || minutes > 59) return undefined;
  return (hours * msPer.hour + minutes * msPer.minute) * (sign === '+' ? 1 : -1);
}

function dayOf({ year, week, weekday, month2, day2, month = month2, day = day2, ordinal }: MomentParts): number | undefined {
  const start = (number: number, of = 1) => new Date(0).setUTCFullYear(Number(year), number - 1, of);
  if (ordinal !== undefined) {
    const ms = start(1, Number(ordinal));
    return Number(ordinal) > 0 && new Date(ms).getUTCFullYear() === Number(year) ? ms : undefined;
  }
  if (week !== undefined) return weekDay(start(1, 4), start(12, 28), Number(week), Number(weekday));
  const ms = start(Number(month), Number(day));
  return new Date(ms).getUTCMonth() === Number(month) - 1 && Number(day) > 0 ? ms : undefined;
}

/** The 4th of January is always in the first week of a year, and the 28th of December in the last (ISO 8601). */
function weekDay(inFirst: number, inLast: number, week: number, weekday: number): number | undefined {
  const monday = (ms: number) => ms - ((new Date(ms).getUTCDay() + 6) % 7) * msPer.day;
  const ms = monday(inFirst) + (week - 1) * 7 * msPer.day;
  return week > 0 && ms <= inLast && weekday >= 1 && weekday <= 7 ? ms + (weekday - 1) * msPer.day : undefined;
}
