import type { AddressQuery, PointQuery } from '../../geocode.ts';
import type { LookupDocument } from '../../lookup.ts';
import { readAs } from '../data.ts';
import { findAddress } from './address/find-address.ts';
import { Misspellings } from './address/misspellings.ts';
import { lastWordsOf } from './address/readings.ts';
import { countryNames } from './area-names/country-names.ts';
import { countyNames } from './area-names/county-names.ts';
import { regionNames } from './area-names/region-names.ts';
import { Areas, type AreasMeta } from './areas.ts';
import { Columns } from './columns.ts';
import { addressDocument, type County, pointDocument } from './document.ts';
import { LargeCities } from './large-cities.ts';
import { Names } from './names.ts';
import { Nearest } from './nearest.ts';
import { Places, type PlacesMeta } from './places.ts';
import { findPoint } from './reverse.ts';

/** Loads the places and their names. Resolves to the lookup, which finds the place that an address refers to. */
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

/** Loads the places, the borders of countries, and the US counties. Resolves to the lookup, which finds the place nearest to a point. */
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
  readonly places: Places;
}

const loading = new Map<string, Promise<LoadedPlaces>>();

/** Reads the places from the embedded data. Lookups of addresses and lookups of points share them. */
function loadPlaces(folder: string): Promise<LoadedPlaces> {
  const found = loading.get(folder);
  if (found) return found;
  const coming = readAs(folder, 'places', (bytes) => {
    const columns = new Columns<PlacesMeta>(bytes);
    return { columns, places: new Places(columns) };
  });
  loading.set(folder, coming);
  return coming;
}
