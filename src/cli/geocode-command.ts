import { Failure, usageError } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';
import { formatCount } from '../core/text/number.ts';
import { isObject, textOf, type Value } from '../core/value/value.ts';
import { readCoordinates } from '../places/coordinates.ts';
import { countryNamed, noCountry } from '../places/country-names.ts';
import type { LookupDocument } from '../places/lookup.ts';
import { lookUpOne, type OneLookup } from '../preview/look-up.ts';
import { exitCodes } from '../run/exit-codes.ts';
import type { SendingOptions } from './shared-options.ts';
import { tableText } from './show/table.ts';
import { printJson, type Terminal } from './terminal.ts';

interface GivenGeocodeOptions extends SendingOptions {
  readonly point?: string;
  readonly country?: string;
  readonly provider?: string;
  readonly connection?: string;
  readonly json?: boolean;
}

export async function geocodeCommand(address: string | undefined, options: GivenGeocodeOptions, terminal: Terminal): Promise<number> {
  const asked = lookupOf(address, options);
  const document = await lookUpOne(asked, terminal);
  if (document instanceof Failure) {
    terminal.say(`${terminal.colors.red('failed:')} ${document.kind}: ${document.message}`);
    return exitCodes.someFailed;
  }
  if (!document?.match) {
    terminal.say(address === undefined ? 'no place within 100 km' : noPlaceText(address, document));
    return exitCodes.someFailed;
  }
  if (options.json) await printJson(document, terminal);
  else await terminal.print(geocodeText(document));
  return exitCodes.success;
}

function noPlaceText(address: string, document: LookupDocument | null): string {
  const reason = document ? noMatchText(document) : 'it means that there is no value';
  return `no place fits ${JSON.stringify(address)}${reason === '' ? '' : `: ${reason}`}`;
}

/** Throws an AutomateError (`usage`) unless exactly one of an address and a point is specified. */
function lookupOf(address: string | undefined, options: GivenGeocodeOptions): OneLookup {
  const { point, country, provider, connection } = options;
  if ((address === undefined) === (point === undefined)) {
    const found = point === undefined ? '' : ', found both';
    throw usageError(`expected an address or --point LAT,LON${found}\nautomate geocode "Paris, TX"`);
  }
  const isPoint = point !== undefined;
  const node = {
    type: 'geocode',
    ...(isPoint ? { point: { lat: '{{lat}}', lon: '{{lon}}' } } : { address: '{{address}}' }),
    ...(country !== undefined && { country: country.split(',').map(countryCodeOf) }),
    ...(provider !== undefined && { provider }),
    ...(connection !== undefined && { connection }),
  };
  const fields = isPoint ? pointFields(point) : new Map([['address', checkedAddress(address ?? '')]]);
  return { command: 'automate geocode', node, fields, options };
}

function checkedAddress(address: string): string {
  if (/[\p{L}\p{N}]/u.test(address) && address.length <= 500) return address;
  throw usageError(`expected an address of 1 to 500 characters, found ${JSON.stringify(address.slice(0, 40))}`);
}

function countryCodeOf(text: string): string {
  const code = countryNamed(text);
  if (code === undefined) throw usageError(noCountry(text));
  return code;
}

/** Parses `LAT,LON`. Throws an AutomateError (`usage`) if they are not coordinates. */
export function pointFields(text: string): Fields {
  const [lat = '', lon = '', ...more] = text.split(',');
  try {
    if (more.length === 0 && text.includes(',')) return new Map(Object.entries(readCoordinates(lat, lon)));
  } catch (error) {
    throw error instanceof Failure ? usageError(error.message) : error;
  }
  throw usageError(`expected two numbers with a comma between them, such as 52.52,13.405, found ${JSON.stringify(text)}`);
}

/** Contains the parts of the answer, and other places that the address might mean. */
function geocodeText(document: LookupDocument): string {
  const { attribution, candidates, ambiguous } = document;
  const understood = understoodRows(document);
  const others = Array.isArray(candidates) ? candidates.slice(1) : [];
  return [
    ...tableText(geocodeRows(document)),
    ...(understood.length > 0 ? ['', ...tableText(understood)] : []),
    ...(others.length > 0 ? ['', ambiguous ? 'ambiguous; others:' : 'others:', ...tableText(others.map(candidateRow))] : []),
    '',
    `data: ${textOf(attribution ?? '')}`,
  ].join('\n');
}

/** Says in one line which parts of the address were understood, and what was left over. It is empty if nothing was understood. */
function noMatchText(document: LookupDocument): string {
  const { matched, left_over: leftOver } = document;
  const kinds = Array.isArray(matched) ? matched.map((part) => (isObject(part) ? part.as : undefined)) : [];
  if (kinds.length === 0) return '';
  return [reasonOf(kinds, leftOver), ...understoodRows(document).map((row) => row.join(': '))].join('; ');
}

function reasonOf(kinds: readonly (Value | undefined)[], leftOver: Value | undefined): string {
  if (kinds.includes('place')) return 'one word is the name of a place, but no region, country or postcode confirms it';
  if (leftOver)
    return kinds.some((kind) => kind === 'region' || kind === 'country')
      ? 'no place with that name is known there'
      : 'no place with that name is known';
  return kinds.includes('street') ? 'a street without a town' : 'no word that is the name of a place';
}

function understoodRows({ matched, left_over: leftOver }: LookupDocument): string[][] {
  const parts = Array.isArray(matched) ? matched.filter(isObject).map(({ text, as }) => `${cellText(text)} (${cellText(as)})`) : [];
  const rows: [string, string][] = [
    ['understood', parts.join(', ')],
    ['left over', cellText(leftOver)],
  ];
  return rows.filter(([, value]) => value !== '');
}

function geocodeRows({ name, city, level, region, region_code, country, country_code, lat, lon, ...more }: LookupDocument): string[][] {
  const { county, fips, population, distance_m: distance, doubt } = more;
  const countyCode = isObject(fips) ? fips.county : undefined;
  const rows: [string, string][] = [
    // If the answer is itself a region or country, it is not named here, because it has its own row.
    [cellText(level), level === 'region' || level === 'country' ? '' : cellText(name)],
    ['part of', city === name ? '' : cellText(city)],
    ['county', withCode(county, countyCode)],
    ['region', withCode(region, region_code)],
    ['country', withCode(country, country_code)],
    ['coordinates', `${cellText(lat)}, ${cellText(lon)}`],
    ['population', population == null ? '' : formatCount(Number(population))],
    ['distance', distance == null ? '' : `${formatCount(Number(distance))} m`],
    ['doubt', cellText(doubt)],
  ];
  return rows.filter(([, value]) => value !== '');
}

function candidateRow(candidate: Value): string[] {
  const { name, region_code: region, country_code: country, lat, lon, population } = isObject(candidate) ? candidate : {};
  return [
    `  ${cellText(name)}`,
    [cellText(region), cellText(country)].filter(Boolean).join(', '),
    `${cellText(lat)}, ${cellText(lon)}`,
    population == null ? '' : formatCount(Number(population)),
  ];
}

function withCode(name: Value | undefined, code: Value | undefined): string {
  return cellText(code) === '' ? cellText(name) : `${cellText(name)} (${cellText(code)})`.trim();
}

function cellText(value: Value | undefined): string {
  return value === undefined ? '' : textOf(value);
}
