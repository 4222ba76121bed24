import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { sources } from '../../../core/lookups/sources.ts';
import type { Meaning } from './address.ts';
import type { Candidate } from './found-place.ts';
import type { Found } from './nearest.ts';
import type { Places } from './places.ts';

/** Maximum of candidates in an answer. */
const maxCandidates = 5;

const attribution = sources.geonames.text;

/** The answer document of a lookup that found nothing. */
const nothing = {
  match: false,
  lat: null,
  lon: null,
  level: null,
  name: null,
  street: null,
  housenumber: null,
  postcode: null,
  city: null,
  county: null,
  region: null,
  region_code: null,
  country: null,
  country_code: null,
  population: null,
  distance_m: null,
  score: null,
  ambiguous: false,
  fips: null,
  candidates: [],
  attribution,
};

/** A county of the USA: its code of five digits, of which the first two are the state's, and its name. */
export type County = readonly [fips: string, name: string];

/** The answer document for an address. */
export function addressDocument({ candidates, isAmbiguous }: Meaning, places: Places): LookupDocument {
  const [best] = candidates;
  if (!best) return { ...nothing };
  return {
    ...nothing,
    ...locationOf(best, places),
    match: true,
    level: best.level,
    city: best.level === 'place' ? places.name(places.town(best.place)) : null,
    score: Math.round(best.score * 100) / 100,
    ambiguous: isAmbiguous,
    candidates: candidates.slice(0, maxCandidates).map((candidate) => candidateOf(candidate, places)),
  };
}

/** The answer document for a point. `county`: the one in which it lies; absent outside of the USA. */
export function pointDocument(found: Found | undefined, places: Places, county: County | undefined): LookupDocument {
  if (!found) return { ...nothing };
  const { place, distance } = found;
  const region = places.region(place);
  return {
    ...nothing,
    ...locationOf({ place, name: places.name(place), region, country: region.country, population: places.population(place) }, places),
    match: true,
    level: 'place',
    city: places.name(places.town(place)),
    county: county?.[1] ?? null,
    distance_m: Math.round(distance),
    fips: county ? { state: county[0].slice(0, 2), county: county[0], tract: null, block: null } : null,
  };
}

type Location = Pick<Candidate, 'place' | 'name' | 'region' | 'country' | 'population'>;

function locationOf({ place, name, region, country, population }: Location, places: Places) {
  return {
    lat: places.lat(place),
    lon: places.lon(place),
    name,
    region: region?.name ?? null,
    region_code: region?.code || null,
    country: country.name,
    country_code: country.code,
    population: population || null,
  };
}

function candidateOf({ name, region, country, place, population }: Candidate, places: Places) {
  return {
    name,
    region_code: region?.code || null,
    country_code: country.code,
    lat: places.lat(place),
    lon: places.lon(place),
    population: population || null,
  };
}
