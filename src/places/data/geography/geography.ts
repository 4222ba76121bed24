import type { JsonObject } from '../../../core/value/value.ts';
import {
  type AddressQuery,
  doubtText,
  fipsWithin,
  type LookupDocument,
  maxCandidates,
  noPlace,
  type PointQuery,
  type UnderstoodPart,
} from '../../lookup.ts';
import { sources } from '../../sources.ts';
import { readAs } from '../data.ts';
import { type FoundAddress, findAddress } from './address/find-address.ts';
import type { Candidate } from './address/judge.ts';
import { lastWordsOf } from './address/readings.ts';
import { Misspellings } from './address/town-names.ts';
import { Areas, type AreasMeta } from './areas.ts';
import { countryNames, countyNames } from './county-names.ts';
import { Names } from './names.ts';
import { Nearest } from './nearest.ts';
import { Columns, type PlacesMeta, PlaceTable } from './places.ts';
import { regionNames } from './region-names.ts';
import { findPoint, LargeCities, type ReversedPoint } from './reverse.ts';

export async function loadAddresses(folder: string): Promise<(query: AddressQuery) => LookupDocument> {
  const { columns, places } = await loadPlaces(folder);
  const countries = countryNames(places.countries);
  const regions = regionNames(places.regions);
  const counties = countyNames(places.districts, places.regions);
  const addressNames = { countries, regions, counties, lastWords: lastWordsOf(countries, regions, counties) };
  const gazetteer = { places, names: new Names(columns), addressNames };
  const misspellings = new Misspellings(places);
  return (query) => addressDocument(findAddress(query, gazetteer, misspellings), places);
}

export async function loadPoints(folder: string): Promise<(query: PointQuery) => LookupDocument> {
  const [{ places }, borders, countyColumns] = await Promise.all([
    loadPlaces(folder),
    readAs(folder, 'borders', (bytes) => new Areas(new Columns<AreasMeta<string | null>>(bytes))),
    readAs(folder, 'counties', (bytes) => new Columns<AreasMeta<County>>(bytes)),
  ]);
  const surroundings = { places, nearest: new Nearest(places), cities: new LargeCities(places), borders };
  let counties: Areas<County> | undefined;
  return (query) => {
    const found = findPoint(query, surroundings);
    const isAmerican = found !== undefined && withCounties.has(places.region(found.place).country.code);
    // The borders of US counties are decoded when they are first needed, because many flows look up no points in the USA.
    if (isAmerican) counties ??= new Areas(countyColumns);
    return pointDocument(found, places, isAmerican ? counties?.at(query.lat, query.lon) : undefined);
  };
}

/** Country codes of the USA and of the US territories whose counties are in the data. */
const withCounties: ReadonlySet<string> = new Set(['US', 'PR', 'AS', 'GU', 'MP', 'VI']);

interface LoadedPlaces {
  readonly columns: Columns<PlacesMeta>;
  readonly places: PlaceTable;
}

const loading = new Map<string, Promise<LoadedPlaces>>();

/** Reads the places from the embedded data. Lookups of addresses and lookups of points share them. */
function loadPlaces(folder: string): Promise<LoadedPlaces> {
  const found = loading.get(folder);
  if (found) return found;
  const coming = readAs(folder, 'places', (bytes) => {
    const columns = new Columns<PlacesMeta>(bytes);
    return { columns, places: new PlaceTable(columns) };
  });
  loading.set(folder, coming);
  return coming;
}

const attribution = sources.geonames.text;

/** A US county, with its five-digit FIPS code and its name. The first two digits of the code stand for the state. */
type County = readonly [fips: string, name: string];

/** A match whose score is below this is reported as doubtful. */
const lowScore = 0.8;

function addressDocument({ candidates, isAmbiguous, matched, leftOver }: FoundAddress, places: PlaceTable): LookupDocument {
  const [found] = candidates;
  if (!found) return { ...noPlace, matched, left_over: leftOver, attribution };
  const { score, isNear } = found;
  return placeDocument(found, places.town(found.place), places, {
    score: Math.round(score * 100) / 100,
    isAmbiguous,
    doubt: doubtText({ isAmbiguous, isMisspelt: isNear, leftOver, isLow: score < lowScore }),
    matched,
    leftOver,
    candidates: candidates.slice(0, maxCandidates).map((candidate) => placeCandidate(candidate, places)),
  });
}

/** `county` is undefined outside the USA. */
function pointDocument(nearest: ReversedPoint | undefined, places: PlaceTable, county: County | undefined): LookupDocument {
  if (!nearest) return { ...noPlace, attribution };
  const { place, distance, town } = nearest;
  const region = places.region(place);
  const found = { level: 'place', place, name: undefined, region, country: region.country, population: places.population(place) } as const;
  return placeDocument(found, town, places, { county, distance: Math.round(distance) });
}

/** Lookups of addresses and lookups of points provide different facts. */
interface PlaceFacts {
  readonly county?: County;
  /** Distance in metres between the point in the lookup and the place. */
  readonly distance?: number | null;
  readonly score?: number | null;
  readonly isAmbiguous?: boolean;
  readonly doubt?: string | null;
  readonly matched?: UnderstoodPart[];
  readonly leftOver?: string | null;
  readonly candidates?: JsonObject[];
}

type DescribedPlace = Pick<Candidate, 'level' | 'place' | 'name' | 'region' | 'country' | 'population'>;

/** A literal, because a copy of `noPlace` with other values takes ten times as long. */
function placeDocument(
  { level, place, name: written, region, country, population }: DescribedPlace,
  town: number,
  places: PlaceTable,
  { county, distance = null, score = null, isAmbiguous = false, doubt = null, matched = [], leftOver = null, candidates = [] }: PlaceFacts,
): LookupDocument {
  const name = written ?? places.name(place);
  return {
    match: true,
    lat: places.lat(place),
    lon: places.lon(place),
    level,
    name,
    street: null,
    housenumber: null,
    postcode: null,
    city: level !== 'place' ? null : town === place ? name : places.name(town),
    county: county?.[1] ?? null,
    region: region?.name ?? null,
    region_code: region?.code || null,
    country: country.name,
    country_code: country.code,
    population: population || null,
    distance_m: distance,
    score,
    ambiguous: isAmbiguous,
    doubt,
    matched,
    left_over: leftOver,
    fips: county ? fipsWithin(county[0]) : null,
    candidates,
    attribution,
  };
}

function placeCandidate({ name, region, country, place, population }: Candidate, places: PlaceTable) {
  return {
    name: name ?? places.name(place),
    region_code: region?.code || null,
    country_code: country.code,
    lat: places.lat(place),
    lon: places.lon(place),
    population: population || null,
  };
}
