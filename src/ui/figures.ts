/** Formats a number with thousands separators, such as 9,812. */
export function countText(number: number): string {
  return number.toLocaleString('en-US');
}

/** Formats a count with its noun, such as 1 record or 2 records. */
export function counted(number: number, noun: string): string {
  return `${countText(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** Formats a number of credits with at most 4 decimals. */
export function creditFigure(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: 4 });
}

/** Formats a rate per second. It has two significant digits below 10, and is a whole number above. */
export function rate(perSecond: number): string {
  if (perSecond >= 10) return countText(Math.round(perSecond));
  return String(Number(perSecond.toPrecision(2)));
}

/** Formats a share as a whole percentage. The result is 0 % only for nothing, and 100 % only for everything. */
export function percent(part: number, of: number): string {
  if (of <= 0 || part <= 0) return '0 %';
  if (part >= of) return '100 %';
  const share = (part / of) * 100;
  if (share < 1) return 'under 1 %';
  return `${Math.min(99, Math.round(share))} %`;
}

/** Formats a duration in readable form, such as `340 ms`, `4.2 s`, `3 min 12 s` or `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  return twoUnits(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min');
}

function twoUnits(number: number, unit: string, rest: number, smallerUnit: string): string {
  return rest === 0 ? `${number} ${unit}` : `${number} ${unit} ${rest} ${smallerUnit}`;
}

/** Formats a time in UTC, such as `2026-11-24 14:02 UTC`. `time` must be in UTC, too. */
export function utcTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}

/** Formats a size in bytes, such as `812 B` or `41 MB`. */
export function bytesText(size: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  return `${Number((size / 1000 ** power).toPrecision(3)).toLocaleString('en-US')} ${units[power]}`;
}
