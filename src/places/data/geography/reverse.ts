import type { PointQuery } from '../../geocode.ts';
import type { Areas } from './areas.ts';
import type { LargeCities } from './large-cities.ts';
import type { Found, Nearest } from './nearest.ts';
import type { Places } from './places.ts';

/** The place nearest to a point, and the town that the point belongs to. */
export interface FoundPoint extends Found {
  /**
   * Number of the town that the point belongs to. This is the nearest place itself, the town that this place is part of, or a large city
   * around the point.
   */
  readonly town: number;
}

/** The data with which points are looked up. */
export interface Surroundings {
  readonly places: Places;
  readonly nearest: Nearest;
  readonly cities: LargeCities;
  /** The areas of all countries with their alpha-2 codes. The code is null for an area without one. */
  readonly borders: Areas<string | null>;
}

/**
 * If the nearest place is in a different country from the point, a place in the point's own country is preferred within this distance in
 * metres.
 */
const ownCountryDistance = 10_000;

/** A place in the point's own country is also preferred if it is at most this many times as far away as the nearest place. */
const ownCountryFactor = 3;

/** Finds the place nearest to a point and the town that the point belongs to. Returns undefined if no place is near enough. */
export function findPoint(query: PointQuery, surroundings: Surroundings): FoundPoint | undefined {
  const found = findNearest(query, surroundings);
  return found && { ...found, town: surroundings.cities.townOf(found, query) };
}

/**
 * Finds the place nearest to a point; undefined if none is near enough. Close to a border, a place in the country that contains the point
 * is preferred.
 */
function findNearest({ lat, lon, country: codes, maxDistance }: PointQuery, { places, nearest, borders }: Surroundings): Found | undefined {
  const codeOf = (place: number) => places.region(place).country.code;
  const found = nearest.find(lat, lon, maxDistance, codes && ((place) => codes.includes(codeOf(place))));
  if (!found) return undefined;
  const own = borders.at(lat, lon);
  if (!own || own === codeOf(found.place) || codes?.includes(own) === false) return found;
  const limit = Math.min(maxDistance, Math.max(ownCountryDistance, ownCountryFactor * found.distance));
  return nearest.find(lat, lon, limit, (place) => codeOf(place) === own) ?? found;
}
