import { refusedValue, unexpectedText } from './refused-value.ts';

/** A point on the earth in decimal degrees, WGS 84. */
export interface Coordinates {
  readonly lat: number;
  readonly lon: number;
}

const limits = { latitude: 90, longitude: 180 } as const;

/** Parses a latitude and a longitude. Throws a Failure (`request`) that names the invalid coordinate if one of them is invalid. */
export function readCoordinates(lat: string, lon: string): Coordinates {
  return { lat: degrees('latitude', lat), lon: degrees('longitude', lon) };
}

export function isCoordinates({ lat, lon }: Coordinates): boolean {
  return Math.abs(lat) <= limits.latitude && Math.abs(lon) <= limits.longitude;
}

function degrees(name: keyof typeof limits, text: string): number {
  const limit = limits[name];
  const value = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(value) <= limit) return value;
  const advice = /^\s*[+-]?\d+,\d+\s*$/.test(text) ? ', with a point and not a comma' : '';
  throw refusedValue(unexpectedText(`a ${name} from -${limit} to ${limit} in decimal degrees${advice}`, text));
}

/** The mile is the international mile. */
const metres: Readonly<Record<string, number>> = { m: 1, km: 1000, mi: 1609.344 };

/** Parses a distance such as `250m`, `5km` or `2mi` into whole metres. Throws an Error that states the expected form. */
export function distanceMetres(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?) ?(m|km|mi)$/.exec(text.trim()) ?? [];
  if (digits === '') throw new Error(`expected a distance such as 250m, 5km or 2mi, found ${JSON.stringify(text)}`);
  return Math.round(Number(digits) * (metres[unit] as number));
}

/** The mean radius of the earth in metres (IUGG). */
export const earthRadius = 6_371_008.8;

/** Returns the great-circle distance between two points in metres (haversine). */
export function metresBetween(from: Coordinates, to: Coordinates): number {
  const radians = Math.PI / 180;
  const half = (degrees: number) => Math.sin((degrees * radians) / 2) ** 2;
  const square = half(to.lat - from.lat) + Math.cos(from.lat * radians) * Math.cos(to.lat * radians) * half(to.lon - from.lon);
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(square)));
}
