import type { BuildContext, FieldUse } from '../../core/node.ts';
import type { DayLimit } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { fieldOf, referencedFields, textTemplate } from '../../core/template/template.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import { usesWithin } from '../../nodes/http/request-template.ts';
import { readCoordinates } from '../coordinates.ts';
import { isBlank } from '../country-names.ts';
import type { LookupBatch } from '../lookup/lookup.ts';
import type { Payload } from '../lookup/server-requests.ts';
import { type AddressParts, type AddressQuery, addressText, type LookupDocument, type PointQuery } from '../lookup.ts';
import { countryTemplate } from '../places-options.ts';
import { refuseLong } from '../refused-value.ts';
import type { SourceName } from '../sources.ts';
import type { GeocodeOptions } from './geocode-options.ts';

export type GeocodeQuestion = AddressQuery | PointQuery;

export interface QuestionTemplate {
  readonly reads: readonly FieldUse[];
  /** Undefined if there is nothing to look up. Throws a Failure if the record has no valid query. */
  render(fields: Fields): GeocodeQuestion | undefined;
}

export function questionTemplate(options: GeocodeOptions, context: BuildContext): QuestionTemplate | undefined {
  const { address, point, country } = options;
  if ((address === undefined) === (point === undefined)) {
    if (address === undefined) context.missing(['address', 'point'], 'expected an address or a point');
    else context.problem([], 'expected an address or a point, found both');
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

/** Undefined to search the whole world. */
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

/** True if every field in these texts is blank or means "no value", such as `None` or `n/a`. */
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

export interface GeocodeProvider {
  readonly source: SourceName;
  /** The origin of the built-in server. */
  readonly server: string;
  /** Requests per day from one machine, if volunteers run the built-in server. A flow cannot override the rules of such a server. */
  readonly perDay?: DayLimit;
  /** The options that this provider does not support. If undefined, they are the options that only census-us has. */
  readonly lacks?: readonly (keyof GeocodeOptions)[];
  /** Default maximum number of calls in flight; undefined for the default of all nodes. */
  readonly concurrency?: number;
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns a function that renders the path and query of a request. It throws a Failure if the server would refuse the query. */
  paths(options: GeocodeOptions, context: BuildContext): (question: GeocodeQuestion, fields: Fields) => string;
  /** Returns the answer document. Throws a Failure if the response has an unexpected form. */
  document(body: Value, question: GeocodeQuestion): LookupDocument;
  /** The countries that the provider covers, with a name for messages; undefined if it covers all countries. */
  readonly countries?: { readonly codes: readonly string[]; readonly name: string };
  /** Compiles requests for many records. It is undefined if the provider needs a separate request for each record. */
  batch?(options: GeocodeOptions, questionOf: QuestionTemplate['render'], context: BuildContext): ProviderBatch;
}

export interface ProviderBatch extends Omit<LookupBatch, 'request'> {
  payload(records: ReadonlyMap<number, Fields>): Payload;
}
