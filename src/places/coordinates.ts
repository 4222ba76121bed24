import { Failure } from '../core/failure.ts';

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

/** True if the latitude and longitude are in the valid range. */
export function isCoordinates({ lat, lon }: Coordinates): boolean {
  return Math.abs(lat) <= limits.latitude && Math.abs(lon) <= limits.longitude;
}

function degrees(name: keyof typeof limits, text: string): number {
  const limit = limits[name];
  const value = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(value) <= limit) return value;
  const advice = /^\s*[+-]?\d+,\d+\s*$/.test(text) ? ', with a point and not a comma' : '';
  const found = `found ${JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)}`;
  throw new Failure('request', `expected a ${name} from -${limit} to ${limit} in decimal degrees${advice}, ${found}`, { sent: false });
}
