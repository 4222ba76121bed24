import type { Coordinates } from '../../../core/lookups/coordinates.ts';
import { metresBetween } from '../../../core/lookups/distance.ts';
import type { Found } from './nearest.ts';
import type { Places } from './places.ts';

/** Inhabitants of a large city. */
const minPopulation = 500_000;

/** Inhabitants of a square kilometre, by which the radius of a city is reckoned. */
const density = 5000;

/** Least metres to a centre: a point in it is not infinitely close. */
const minDistance = 300;

/** Degrees of latitude that the largest radius does not exceed. */
const maxDegrees = 1;

interface City extends Coordinates {
  readonly place: number;
  readonly population: number;
  /** In metres. */
  readonly radius: number;
}

/** The large cities. In their quarters the nearest place is often known as a place of its own. */
export class LargeCities {
  readonly #places: Places;
  /** By whole degrees of latitude. */
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

  /** The town of the place nearest to a point: the large city of its region if that draws the point more, as gravity would have it. */
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
