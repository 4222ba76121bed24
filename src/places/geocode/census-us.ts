import { excerpt } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';
import { checkedText } from '../census/provider.ts';
import { queryText } from '../lookup/server-requests.ts';
import { fipsWithin } from '../lookup.ts';
import { addressQuery, type CensusData, censusBatch, matchedPlace, unitedStates, usStates } from './census-batch.ts';
import { type FoundPlace, geocodeDocument, textIn } from './document.ts';
import type { GeocodeOptions } from './geocode-options.ts';
import type { GeocodeProvider, GeocodeQuestion } from './question.ts';

/** Finds houses and codes of census units. https://geocoding.geo.census.gov/geocoder/Geocoding_Services_API.html */
export const censusUs: GeocodeProvider = {
  source: 'census-bureau',
  server: 'https://geocoding.geo.census.gov',
  lacks: ['max_distance'],
  concurrency: 4,
  timeoutMs: 60_000,
  countries: { codes: ['US', 'PR', 'VI', 'GU', 'AS', 'MP'], name: 'the USA' },
  paths(options, context) {
    const dataOf = censusData(options, context);
    const [addresses, data] = options.geographies ? (['geographies', dataOf] as const) : (['locations', withoutVintage(dataOf)] as const);
    return (question, fields) => {
      if (!('address' in question))
        return `/geocoder/geographies/coordinates?${queryText({ ...pointQuery(question), ...dataOf(fields), ...json })}`;
      const { address } = question;
      if (typeof address !== 'string')
        return `/geocoder/${addresses}/address?${queryText({ ...addressQuery(address), ...data(fields), ...json })}`;
      return `/geocoder/${addresses}/onelineaddress?${queryText({ address, ...data(fields), ...json })}`;
    };
  },
  document(body, question) {
    const found = 'address' in question ? matchesOf(body).map(censusPlace) : placeAt(body, question);
    return geocodeDocument(found, question, 'census-bureau', found.length > 1);
  },
  batch: (options, questionOf, context) => censusBatch(options, questionOf, censusData(options, context)),
};

const json = { format: 'json' };

const dataForm = { pattern: /^[\w.-]+$/, expected: 'a name such as Public_AR_Current' };

function censusData({ benchmark, vintage }: GeocodeOptions, context: BuildContext): (fields: Fields) => CensusData {
  const benchmarkOf = checkedText(benchmark ?? 'Public_AR_Current', dataForm, ['benchmark'], context);
  const vintageOf = checkedText(vintage ?? 'Current_Current', dataForm, ['vintage'], context);
  return (fields) => ({ benchmark: benchmarkOf(fields), vintage: vintageOf(fields) });
}

function withoutVintage(dataOf: (fields: Fields) => CensusData): (fields: Fields) => { readonly benchmark: string } {
  return (fields) => ({ benchmark: dataOf(fields).benchmark });
}

function pointQuery({ lat, lon }: GeocodeQuestion & { lat: number; lon: number }) {
  return { x: String(lon), y: String(lat) };
}

function resultIn(body: Value): JsonObject {
  if (isObject(body) && isObject(body.result)) return body.result;
  throw new Failure('answer', `expected a result, found ${excerpt(jsonOf(body))}`);
}

function matchesOf(body: Value): JsonObject[] {
  const { addressMatches } = resultIn(body);
  if (Array.isArray(addressMatches)) return addressMatches.filter(isObject);
  throw new Failure('answer', `expected a list of addressMatches, found ${excerpt(jsonOf(body))}`);
}

function censusPlace({ matchedAddress, coordinates, addressComponents, geographies }: JsonObject): FoundPlace {
  const { x = null, y = null } = isObject(coordinates) ? coordinates : {};
  const { city, state, zip } = isObject(addressComponents) ? addressComponents : {};
  const place = matchedPlace(textIn({ text: matchedAddress ?? null }, 'text') ?? '', y, x);
  const region = textIn({ state: state ?? null }, 'state') ?? place.regionCode;
  const units = isObject(geographies) ? geographies : undefined;
  return {
    ...place,
    city: textIn({ city: city ?? null }, 'city') ?? place.city,
    postcode: textIn({ zip: zip ?? null }, 'zip') ?? place.postcode,
    regionCode: region,
    region: usStates.get(region ?? ''),
    county: units && unitIn(units, 'Counties')?.name,
    fips: units && fipsOf(units),
  };
}

function placeAt(body: Value, question: GeocodeQuestion): FoundPlace[] {
  const { geographies } = resultIn(body);
  if (!isObject(geographies)) throw new Failure('answer', `expected geographies, found ${excerpt(jsonOf(body))}`);
  const fips = fipsOf(geographies);
  if ('address' in question || !fips) return [];
  const state = unitIn(geographies, 'States');
  const city = unitIn(geographies, 'Incorporated Places')?.name;
  const county = unitIn(geographies, 'Counties')?.name;
  const { lat, lon } = question;
  return [
    {
      lat,
      lon,
      level: 'house',
      name: city ?? county ?? state?.name,
      city,
      county,
      region: state?.name,
      regionCode: state?.code,
      fips,
      ...unitedStates,
    },
  ];
}

/** Returns the first census unit of a kind. `kind` is the name of the list that contains such units, or the end of that name. */
function unitIn(geographies: JsonObject, kind: string) {
  const [, units] = Object.entries(geographies).find(([name]) => name.endsWith(kind)) ?? [];
  const [unit] = Array.isArray(units) ? units.filter(isObject) : [];
  return unit && { geoid: textIn(unit, 'GEOID'), name: textIn(unit, 'BASENAME', 'NAME'), code: textIn(unit, 'STUSAB') };
}

/** Each code begins with the code of the larger unit, so the longest code is enough. */
function fipsOf(geographies: JsonObject): JsonObject | undefined {
  const [block, tract, county, state] = ['Census Blocks', 'Census Tracts', 'Counties', 'States'].map(
    (kind) => unitIn(geographies, kind)?.geoid,
  );
  const longest = block ?? tract ?? county ?? state;
  return longest === undefined ? undefined : fipsWithin(longest);
}
