/** A number with separators: 9,812. */
export function countText(number: number): string {
  return number.toLocaleString('en-US');
}

/** A count with its noun: 1 record, 2 records. */
export function counted(number: number, noun: string): string {
  return `${countText(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A number of credits with up to 4 decimals. */
export function creditFigure(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: 4 });
}

/** A rate per second: two digits below 10, whole numbers above. */
export function rate(perSecond: number): string {
  if (perSecond >= 10) return countText(Math.round(perSecond));
  return String(Number(perSecond.toPrecision(2)));
}

/** A share as whole per cent. Only nothing is 0 %, and only all is 100 %. */
export function percent(part: number, of: number): string {
  if (of <= 0 || part <= 0) return '0 %';
  if (part >= of) return '100 %';
  const share = (part / of) * 100;
  if (share < 1) return 'under 1 %';
  return `${Math.min(99, Math.round(share))} %`;
}

/** A duration as a person reads it: `340 ms`, `4.2 s`, `3 min 12 s`, `2 h 5 min`. */
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

/** A time as `2026-11-24 14:02`, in UTC. */
export function utcTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}

/** A size: `812 B`, `41 MB`. */
export function bytesText(size: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  return `${Number((size / 1000 ** power).toPrecision(3)).toLocaleString('en-US')} ${units[power]}`;
}
