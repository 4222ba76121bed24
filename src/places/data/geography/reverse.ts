import { type Coordinates, metresBetween } from '../../coordinates.ts';
import type { PointQuery } from '../../lookup.ts';
import type { Areas } from './areas.ts';
import type { Nearest, NearestPlace } from './nearest.ts';
import type { PlaceTable } from './places.ts';

export interface ReversedPoint extends NearestPlace {
  /** The nearest place, the town that it is part of, or a large city around the point. */
  readonly town: number;
}

interface Neighbourhood {
  readonly places: PlaceTable;
  readonly nearest: Nearest;
  readonly cities: LargeCities;
  /** The areas of all countries with their alpha-2 codes. The code is null for an area without one. */
  readonly borders: Areas<string | null>;
}

/** Within this distance in metres, a place in the point's own country is preferred over the nearest place. */
const ownCountryDistance = 10_000;

/** A place in the point's own country is also preferred if it is at most this many times as far away as the nearest place. */
const ownCountryFactor = 3;

export function findPoint(query: PointQuery, surroundings: Neighbourhood): ReversedPoint | undefined {
  const found = findNearest(query, surroundings);
  return found && { ...found, town: surroundings.cities.townOf(found, query) };
}

/** Close to a border, prefers a place in the country that contains the point. */
function findNearest(
  { lat, lon, country: codes, maxDistance }: PointQuery,
  { places, nearest, borders }: Neighbourhood,
): NearestPlace | undefined {
  const codeOf = (place: number) => places.region(place).country.code;
  const found = nearest.find(lat, lon, maxDistance, codes && ((place) => codes.includes(codeOf(place))));
  if (!found) return undefined;
  const own = borders.at(lat, lon);
  if (!own || own === codeOf(found.place) || codes?.includes(own) === false) return found;
  const limit = Math.min(maxDistance, Math.max(ownCountryDistance, ownCountryFactor * found.distance));
  return nearest.find(lat, lon, limit, (place) => codeOf(place) === own) ?? found;
}

const minPopulation = 500_000;

/** Assumed inhabitants per square kilometre, for estimating the radius of a city. */
const density = 5000;

/** Minimum assumed distance in metres. Otherwise, the city's pull would be infinite at its centre. */
const minDistance = 300;

/** Every city's radius is less than this, in degrees of latitude. */
const maxDegrees = 1;

interface City extends Coordinates {
  readonly place: number;
  readonly population: number;
  /** Estimated radius of the city in metres. */
  readonly radius: number;
}

/** A point inside a large city belongs to it, even if the nearest place is a separately listed quarter of the city. */
export class LargeCities {
  readonly #places: PlaceTable;
  /** Cities, keyed by whole degrees of latitude. Each city is listed under all degrees that it may extend into. */
  readonly #byDegree = new Map<number, City[]>();

  constructor(places: PlaceTable) {
    this.#places = places;
    for (let place = 0; place < places.count; place++) {
      const population = places.population(place);
      if (population >= minPopulation && places.town(place) === place) this.#add(place, population);
    }
  }

  #add(place: number, population: number): void {
    const radius = 1000 * Math.sqrt(population / density / Math.PI);
    const city = { place, population, radius, lat: this.#places.lat(place), lon: this.#places.lon(place) };
    const degree = Math.floor(city.lat);
    for (let near = degree - maxDegrees; near <= degree + maxDegrees; near++) {
      const cities = this.#byDegree.get(near);
      if (cities) cities.push(city);
      else this.#byDegree.set(near, [city]);
    }
  }

  /** A large city around the point in the same region wins if its pull, population divided by squared distance, is stronger. */
  townOf({ place, distance }: NearestPlace, point: Coordinates): number {
    const places = this.#places;
    const region = places.region(place);
    let best = places.town(place);
    if (best !== place && places.population(best) >= minPopulation) return best;
    const own = best === place ? distance : metresBetween(point, { lat: places.lat(best), lon: places.lon(best) });
    let most = pull(places.population(best), own);
    for (const city of this.#byDegree.get(Math.floor(point.lat)) ?? []) {
      if (Math.abs(city.lon - point.lon) > maxDegrees || places.region(city.place) !== region) continue;
      const away = metresBetween(point, city);
      const strength = pull(city.population, away);
      if (away > city.radius || strength <= most) continue;
      best = city.place;
      most = strength;
    }
    return best;
  }
}

function pull(population: number, distance: number): number {
  return population / Math.max(distance, minDistance) ** 2;
}
