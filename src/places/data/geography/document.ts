import { doubtText } from '../../doubt.ts';
import { maxCandidates, noPlace, type UnderstoodPart } from '../../geocode.ts';
import type { LookupDocument } from '../../lookup.ts';
import { sources } from '../../sources.ts';
import type { Candidate } from './address/candidate.ts';
import type { FoundAddress } from './address/find-address.ts';
import type { Places } from './places.ts';
import type { FoundPoint } from './reverse.ts';

const attribution = sources.geonames.text;

/** A US county, with its five-digit FIPS code and its name. The first two digits of the code stand for the state. */
export type County = readonly [fips: string, name: string];

/** The facts for the result of a lookup. Lookups of addresses and lookups of points provide different facts. */
interface Parts {
  readonly found: Pick<Candidate, 'level' | 'place' | 'name' | 'region' | 'country' | 'population'>;
  /** The town that the place is in. If undefined, the town comes from the data. */
  readonly town?: number;
  readonly county?: County | undefined;
  /** Distance in metres between the point in the lookup and the place. */
  readonly distance?: number;
  readonly score?: number;
  readonly isAmbiguous?: boolean;
  /** True if the place's name is misspelled in the lookup. */
  readonly isMisspelt?: boolean;
  readonly matched?: readonly UnderstoodPart[];
  readonly leftOver?: string | null;
  readonly candidates?: readonly Candidate[];
}

/** Creates the result of the lookup of an address. */
export function addressDocument({ candidates, isAmbiguous, matched, leftOver }: FoundAddress, places: Places): LookupDocument {
  const [found] = candidates;
  if (!found) return { ...noPlace, matched: matched.map(plainPart), left_over: leftOver, attribution };
  return geographyDocument({ found, score: found.score, isAmbiguous, isMisspelt: found.isNear, matched, leftOver, candidates }, places);
}

function plainPart({ text, as }: UnderstoodPart) {
  return { text, as };
}

/** Creates the result of the lookup of a point. `county` is the US county that contains the point; undefined outside the USA. */
export function pointDocument(nearest: FoundPoint | undefined, places: Places, county: County | undefined): LookupDocument {
  if (!nearest) return { ...noPlace, attribution };
  const { place, distance, town } = nearest;
  const region = places.region(place);
  const population = places.population(place);
  const found = { level: 'place', place, name: undefined, region, country: region.country, population } as const;
  return geographyDocument({ found, town, county, distance }, places);
}

/** A match whose score is below this is reported as doubtful. */
const lowScore = 0.8;

/** Creates the result for a place, region or country that was found. */
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
