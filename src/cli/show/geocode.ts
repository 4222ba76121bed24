import { formatCount } from '../../core/text/number.ts';
import { isObject, textOf, type Value } from '../../core/value/value.ts';
import type { LookupDocument } from '../../places/lookup.ts';
import { tableText } from './table.ts';

/** Returns the text that `geocode` prints. It contains the parts of the answer, and other places that the address might mean. */
export function geocodeText(document: LookupDocument): string {
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

/**
 * Returns one line that says which parts of an address without a match were understood, and what was left over. It is empty if nothing was
 * understood.
 */
export function noMatchText(document: LookupDocument): string {
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

/** Returns the parts of an address that were understood, and what was left over. */
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
