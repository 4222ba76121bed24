import type { PointQuery } from '../../../core/lookups/geocode.ts';
import type { Areas } from './areas.ts';
import type { LargeCities } from './large-cities.ts';
import type { Found, Nearest } from './nearest.ts';
import type { Places } from './places.ts';

/** A place near a point, and the town there. */
export interface FoundPoint extends Found {
  /** The place, the town that it is a part of, or the large city around it. */
  readonly town: number;
}

/** The data that points are looked up in. */
export interface Surroundings {
  readonly places: Places;
  readonly nearest: Nearest;
  readonly cities: LargeCities;
  /** Countries by their alpha-2 codes; null in a land that no code names. */
  readonly borders: Areas<string | null>;
}

/** Metres within which a place in the point's own country wins over a nearer place in another country. */
const ownCountryDistance = 10_000;

/** Multiple of the distance to the nearest place within which a place in the point's own country wins. */
const ownCountryFactor = 3;

/** Finds the place nearest to a point, and its town. */
export function findPoint(query: PointQuery, surroundings: Surroundings): FoundPoint | undefined {
  const found = findNearest(query, surroundings);
  return found && { ...found, town: surroundings.cities.townOf(found, query) };
}

/** Finds the place nearest to a point. Near a border a place of the country in which the point lies is taken. */
function findNearest({ lat, lon, country: codes, maxDistance }: PointQuery, { places, nearest, borders }: Surroundings): Found | undefined {
  const codeOf = (place: number) => places.region(place).country.code;
  const found = nearest.find(lat, lon, maxDistance, codes && ((place) => codes.includes(codeOf(place))));
  if (!found) return undefined;
  const own = borders.at(lat, lon);
  if (!own || own === codeOf(found.place) || codes?.includes(own) === false) return found;
  const limit = Math.min(maxDistance, Math.max(ownCountryDistance, ownCountryFactor * found.distance));
  return nearest.find(lat, lon, limit, (place) => codeOf(place) === own) ?? found;
}
