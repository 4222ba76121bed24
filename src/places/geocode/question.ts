import type { BuildContext, FieldUse } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { fieldOf, referencedFields, textTemplate } from '../../core/template/template.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import { usesWithin } from '../../nodes/http/request-template.ts';
import { isBlank } from '../blank.ts';
import { readCoordinates } from '../coordinates.ts';
import { type AddressParts, type AddressQuery, addressText, type PointQuery } from '../geocode.ts';
import { refuseLong } from '../node/chain.ts';
import { countryTemplate } from '../node/country-template.ts';
import type { GeocodeOptions } from './geocode-options.ts';

/** The query for a record, which is a postal address or a point on the earth. Either can list the countries to search in. */
export type Question = AddressQuery | PointQuery;

/** The compiled options that define the query. */
export interface QuestionTemplate {
  readonly reads: readonly FieldUse[];
  /** Renders the query for a record; undefined if there is nothing to look up. Throws a Failure if the record has no valid query. */
  render(fields: Fields): Question | undefined;
}

/** Compiles the options `address` or `point`, and `country`. Returns undefined if a problem was reported. */
export function questionTemplate(options: GeocodeOptions, context: BuildContext): QuestionTemplate | undefined {
  const { address, point, country } = options;
  if ((address === undefined) === (point === undefined)) {
    context.problem([], address === undefined ? 'expected an address or a point' : 'expected an address or a point, found both');
    return undefined;
  }
  if (options.max_distance !== undefined && !point) {
    context.problem(['max_distance'], 'max_distance works only with point, which finds the nearest place\nleave it out with address');
  }
  const countries = countriesTemplate(country, context);
  const render = point ? pointTemplate(point, countries, options) : addressTemplate(address ?? '', countries);
  const reads = [
    ...usesWithin(address as Value, ['address']),
    ...usesWithin(point, ['point']),
    ...usesWithin(country as Value, ['country']),
  ];
  return { reads, render };
}

type Rendered<Result> = (fields: Fields) => Result | undefined;

/** Renders the codes of the countries to search in; undefined to search the whole world. */
type Countries = Rendered<readonly string[]>;

function addressTemplate(address: string | AddressParts, countries: Countries): Rendered<AddressQuery> {
  const hasNothing = blankTemplate(typeof address === 'string' ? [address] : Object.values(address));
  const render = typeof address === 'string' ? textTemplate(address) : partsTemplate(address);
  return (fields) => {
    if (hasNothing(fields)) return undefined;
    const address = render(fields);
    const text = addressText(address);
    if (isBlank(text)) return undefined;
    refuseLong(text, 'text');
    return { address, country: countries(fields) };
  };
}

function partsTemplate(parts: AddressParts): (fields: Fields) => AddressParts {
  const templates = Object.entries(parts).map(([name, text]: [string, string]) => [name, textTemplate(text)] as const);
  return (fields) => Object.fromEntries(templates.map(([name, render]) => [name, render(fields)]));
}

/**
 * Returns a function that is true for records with nothing to look up. In such a record, every field that these texts refer to is blank, or
 * means "no value", such as `None` or `n/a`.
 */
function blankTemplate(texts: readonly string[]): (fields: Fields) => boolean {
  const names = [...new Set(texts.flatMap(referencedFields))];
  return (fields) => names.length > 0 && names.every((name) => isBlank(textOf(fieldOf(fields, name))));
}

/** Default maximum distance in metres from a point to the nearest place. */
const defaultDistance = 100_000;

function pointTemplate(
  { lat, lon }: { readonly lat: string; readonly lon: string },
  countries: Countries,
  { max_distance: maxDistance = defaultDistance }: GeocodeOptions,
): Rendered<PointQuery> {
  const isBlank = blankTemplate([lat, lon]);
  const latOf = textTemplate(lat);
  const lonOf = textTemplate(lon);
  return (fields) => {
    if (isBlank(fields)) return undefined;
    const point = readCoordinates(latOf(fields), lonOf(fields));
    return { lat: point.lat, lon: point.lon, country: countries(fields), maxDistance };
  };
}

function countriesTemplate(country: GeocodeOptions['country'], context: BuildContext): Countries {
  if (country === undefined) return () => undefined;
  const templates = Array.isArray(country)
    ? country.map((text, index) => countryTemplate(text, context, ['country', index]))
    : [countryTemplate(country, context)];
  return (fields) => {
    const codes = templates.flatMap((render) => render(fields) ?? []);
    return codes.length > 0 ? codes : undefined;
  };
}
