import type { Coordinates } from '../../coordinates.ts';
import { metresBetween } from '../../distance.ts';
import type { Found } from './nearest.ts';
import type { Places } from './places.ts';

/** Minimum number of inhabitants of a large city. */
const minPopulation = 500_000;

/** Assumed inhabitants per square kilometre, for estimating the radius of a city. */
const density = 5000;

/**
 * If a point is nearer to a city's centre than this, this distance in metres is assumed. Otherwise, the city's pull would be infinite at
 * its centre.
 */
const minDistance = 300;

/** Every city's radius is less than this, in degrees of latitude. */
const maxDegrees = 1;

interface City extends Coordinates {
  readonly place: number;
  readonly population: number;
  /** Estimated radius of the city in metres. */
  readonly radius: number;
}

/**
 * The large cities. A point inside a large city belongs to that city, even if the nearest place in the data is a separately listed quarter
 * of the city.
 */
export class LargeCities {
  readonly #places: Places;
  /** Cities, keyed by whole degrees of latitude. Each city is listed under all degrees that it may extend into. */
  readonly #byDegree = new Map<number, City[]>();

  constructor(places: Places) {
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

  /**
   * Returns the town that a point belongs to. This is usually the town of the nearest place. But if the point is inside a large city in the
   * same region that has a stronger pull, it is that city. The pull is the population divided by the squared distance.
   */
  townOf({ place, distance }: Found, point: Coordinates): number {
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
