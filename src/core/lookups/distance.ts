import type { Coordinates } from './coordinates.ts';

/** Metres of a unit of length. A mile is the international one. */
const metres: Readonly<Record<string, number>> = { m: 1, km: 1000, mi: 1609.344 };

/** Reads a distance such as `250m`, `5km` or `2mi`, in whole metres. Throws an Error that says what was expected. */
export function distanceMetres(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?) ?(m|km|mi)$/.exec(text.trim()) ?? [];
  if (digits === '') throw new Error(`expected a distance such as 250m, 5km or 2mi, found ${JSON.stringify(text)}`);
  return Math.round(Number(digits) * (metres[unit] as number));
}

/** The mean radius of the earth in metres (IUGG). */
export const earthRadius = 6_371_008.8;

/** The distance of two points along the great circle (haversine), in metres. */
export function metresBetween(from: Coordinates, to: Coordinates): number {
  const radians = Math.PI / 180;
  const half = (degrees: number) => Math.sin((degrees * radians) / 2) ** 2;
  const square = half(to.lat - from.lat) + Math.cos(from.lat * radians) * Math.cos(to.lat * radians) * half(to.lon - from.lon);
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(square)));
}
