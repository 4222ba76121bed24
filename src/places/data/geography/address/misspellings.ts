import { editDistance } from '../../../../core/text/suggest.ts';
import { placeKey } from '../../../place-key.ts';
import type { PlaceTable, Region } from '../places.ts';
import type { Hit } from './candidate.ts';
import { keyOf } from './readings.ts';
import type { PlaceSearch } from './search.ts';
import { plainWords } from './street-words.ts';
import { namesPlaceIn } from './town-names.ts';

/** Minimum length of a name in which one spelling mistake is accepted, and minimum length for two mistakes. */
const [minLength, minForTwo] = [5, 7];

/** Minimum population of a misspelled place if the address contains its region, and if it contains only the country. */
const [leastInRegion, leastInCountry] = [5000, 20_000];

/** Minimum population of a place whose name contains two spelling mistakes. */
const leastForTwo = 20_000;

/** Normalized names of places, and the places' numbers in the data. A name and its place have the same index. */
interface KnownNames {
  readonly keys: readonly string[];
  readonly places: readonly number[];
}

/** Accepts one or two mistakes if the address also contains the place's region or country. */
export class Misspellings {
  readonly #places: PlaceTable;
  /** The places in each region, indexed by the region's number. Undefined until the first search. */
  #byRegion: number[][] | undefined;
  readonly #known = new Map<Region, KnownNames>();

  constructor(places: PlaceTable) {
    this.#places = places;
  }

  /** For the last segment that may be a town; none if it is the exact name of a place in the same country. */
  hits(search: PlaceSearch): Hit[] {
    const { reading } = search;
    const words = reading.rest.findLast(({ town }) => town.length > 0)?.town.filter(({ key }) => !plainWords.has(key)) ?? [];
    const key = words.length > 0 ? keyOf(words) : '';
    if (key.length < minLength) return [];
    const country = reading.region?.country ?? reading.country;
    if (!country || namesPlaceIn(search, words, (place) => this.#places.region(place).country === country)) return [];
    const regions = reading.region ? [reading.region] : this.#places.regions.filter((region) => region.country === country);
    const least = reading.region ? leastInRegion : leastInCountry;
    return this.#nearest(key, regions, least).map((place) => ({ place, isOwnName: true, words, isWhole: true, isNear: true }));
  }

  #nearest(key: string, regions: readonly Region[], least: number): number[] {
    let most = key.length >= minForTwo ? 2 : 1;
    let found: number[] = [];
    for (const region of regions) {
      const { keys, places } = this.#knownIn(region);
      for (let index = 0; index < keys.length; index++) {
        const name = keys[index] as string;
        const place = places[index] as number;
        if (name[0] !== key[0] || Math.abs(name.length - key.length) > most || this.#places.population(place) < least) continue;
        const distance = editDistance(name, key);
        if (distance > most || (distance > 1 && this.#places.population(place) < leastForTwo)) continue;
        if (distance < most) found = [];
        most = distance;
        found.push(place);
      }
    }
    return found;
  }

  #knownIn(region: Region): KnownNames {
    const known = this.#known.get(region);
    if (known) return known;
    this.#byRegion ??= this.#placesByRegion();
    const places = this.#byRegion[region.number] ?? [];
    const made = { keys: places.map((place) => placeKey(this.#places.name(place))), places };
    this.#known.set(region, made);
    return made;
  }

  #placesByRegion(): number[][] {
    const byRegion: number[][] = this.#places.regions.map(() => []);
    for (let place = 0; place < this.#places.count; place++) {
      if (this.#places.population(place) >= leastInRegion) byRegion[this.#places.region(place).number]?.push(place);
    }
    return byRegion;
  }
}
