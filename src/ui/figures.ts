import { formatCount } from '../core/text/number.ts';

/** Formats a rate per second. It has two significant digits below 10, and is a whole number above. */
export function rate(perSecond: number): string {
  if (perSecond >= 10) return formatCount(Math.round(perSecond));
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

/** Formats a size in bytes, such as `812 B` or `41 MB`. */
export function bytesText(size: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  return `${formatCount(Number((size / 1000 ** power).toPrecision(3)))} ${units[power]}`;
}
