import { doubtText } from '../../../core/lookups/doubt.ts';
import { maxCandidates, noPlace, type UnderstoodPart } from '../../../core/lookups/geocode.ts';
import type { LookupDocument } from '../../../core/lookups/lookup.ts';
import { sources } from '../../../core/lookups/sources.ts';
import type { Candidate } from './address/candidate.ts';
import type { FoundAddress } from './address/find-address.ts';
import type { Places } from './places.ts';
import type { FoundPoint } from './reverse.ts';

const attribution = sources.geonames.text;

/** A county of the USA: its code of five digits, of which the first two are the state's, and its name. */
export type County = readonly [fips: string, name: string];

/** The parts in which answer documents differ. */
interface Parts {
  readonly found: Pick<Candidate, 'level' | 'place' | 'name' | 'region' | 'country' | 'population'>;
  /** The town around the place; undefined for the town that the data have for it. */
  readonly town?: number;
  readonly county?: County | undefined;
  /** In metres. */
  readonly distance?: number;
  readonly score?: number;
  readonly isAmbiguous?: boolean;
  /** True if the place is written with mistakes. */
  readonly isMisspelt?: boolean;
  readonly matched?: readonly UnderstoodPart[];
  readonly leftOver?: string | null;
  readonly candidates?: readonly Candidate[];
}

/** The answer document for an address. */
export function addressDocument({ candidates, isAmbiguous, matched, leftOver }: FoundAddress, places: Places): LookupDocument {
  const [found] = candidates;
  if (!found) return { ...noPlace, matched: matched.map(plainPart), left_over: leftOver, attribution };
  return geographyDocument({ found, score: found.score, isAmbiguous, isMisspelt: found.isNear, matched, leftOver, candidates }, places);
}

function plainPart({ text, as }: UnderstoodPart) {
  return { text, as };
}

/** The answer document for a point. `county`: in which the point lies; undefined outside of the USA. */
export function pointDocument(nearest: FoundPoint | undefined, places: Places, county: County | undefined): LookupDocument {
  if (!nearest) return { ...noPlace, attribution };
  const { place, distance, town } = nearest;
  const region = places.region(place);
  const population = places.population(place);
  const found = { level: 'place', place, name: undefined, region, country: region.country, population } as const;
  return geographyDocument({ found, town, county, distance }, places);
}

/** A match below this score is doubtful. */
const lowScore = 0.8;

/** The answer document of a place that was found. */
function geographyDocument(parts: Parts, places: Places): LookupDocument {
  const {
    found,
    town = places.town(found.place),
    county,
    distance,
    score,
    isAmbiguous = false,
    isMisspelt = false,
    matched = [],
    leftOver = null,
    candidates,
  } = parts;
  const name = found.name ?? places.name(found.place);
  return {
    match: true,
    lat: places.lat(found.place),
    lon: places.lon(found.place),
    level: found.level,
    name,
    street: null,
    housenumber: null,
    postcode: null,
    city: found.level !== 'place' ? null : town === found.place ? name : places.name(town),
    county: county?.[1] ?? null,
    region: found.region?.name ?? null,
    region_code: found.region?.code || null,
    country: found.country.name,
    country_code: found.country.code,
    population: found.population || null,
    distance_m: distance === undefined ? null : Math.round(distance),
    score: score === undefined ? null : Math.round(score * 100) / 100,
    ambiguous: isAmbiguous,
    doubt: doubtText({ isAmbiguous, isMisspelt, leftOver, isLow: score !== undefined && score < lowScore }),
    matched: matched.map(plainPart),
    left_over: leftOver,
    fips: county ? fipsOf(county) : null,
    candidates: candidates?.slice(0, maxCandidates).map((candidate) => placeCandidate(candidate, places)) ?? [],
    attribution,
  };
}

function fipsOf([code]: County) {
  return { state: code.slice(0, 2), county: code, tract: null, block: null };
}

function placeCandidate({ name, region, country, place, population }: Candidate, places: Places) {
  return {
    name: name ?? places.name(place),
    region_code: region?.code || null,
    country_code: country.code,
    lat: places.lat(place),
    lon: places.lon(place),
    population: population || null,
  };
}
