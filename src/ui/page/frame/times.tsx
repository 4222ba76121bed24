/** A time shown in the reader's time zone. The attribute `dateTime` contains the exact time. */
export function Time({ at }: { readonly at: string }) {
  return <time dateTime={at}>{timeText(new Date(at), new Date())}</time>;
}

const [clock, day, dayAndYear] = [
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }),
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' }),
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' }),
];

/** Formats a time, such as `14:02` today, `24 Nov 14:02` this year, and `24 Nov 2025` in earlier years. */
export function timeText(at: Date, now: Date): string {
  if (at.toDateString() === now.toDateString()) return clock.format(at);
  if (at.getFullYear() === now.getFullYear()) return `${day.format(at)} ${clock.format(at)}`;
  return dayAndYear.format(at);
}

/** A date shown without the time of day. */
export function Day({ at }: { readonly at: string }) {
  return <time dateTime={at}>{dayAndYear.format(new Date(at))}</time>;
}
