import { textStart } from '../../core/answer/charset.ts';
import { excerpt, readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { referencedFields } from '../../core/template/template.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { type AddressParts, fipsWithin, type LookupDocument } from '../lookup.ts';
import { refusedValue } from '../refused-value.ts';
import { type FoundPlace, geocodeDocument, pointIn } from './document.ts';
import type { GeocodeOptions } from './geocode-options.ts';
import type { ProviderBatch, QuestionTemplate } from './question.ts';

/** Builds batch requests of up to 10,000 addresses each. https://www2.census.gov/geo/pdfs/maps-data/data/Census_Geocoder_User_Guide.pdf */
export function censusBatch(
  options: GeocodeOptions,
  questionOf: QuestionTemplate['render'],
  dataOf: (fields: Fields) => CensusData,
): ProviderBatch {
  const { batch: size = 1, geographies, benchmark = '', vintage = '' } = options;
  const isShared = referencedFields(benchmark + vintage).length === 0;
  return {
    size,
    ...(isShared ? {} : { keyOf: (fields) => jsonOf({ ...dataOf(fields) }) }),
    payload(records) {
      const [first] = records.values();
      const lines = [...records].map(([number, fields]) => lineOf(number, partsIn(questionOf(fields))));
      const path = `/geocoder/${geographies ? 'geographies' : 'locations'}/addressbatch`;
      return { path, ...multipart(lines.join(''), dataOf(first as Fields)) };
    },
    responseMode: 'rows',
    documents: (response) => documentsIn(response, geographies),
  };
}

function partsIn(question: ReturnType<QuestionTemplate['render']>): AddressParts {
  return question && 'address' in question && typeof question.address !== 'string' ? question.address : {};
}

function lineOf(number: number, address: AddressParts): string {
  const { street = '', city = '', state = '', zip = '' } = addressQuery(address);
  return csvLine([String(number), street, city, state, zip]);
}

/** The form follows RFC 7578. FormData would create a random boundary, but retries need an identical body. */
function multipart(file: string, data: CensusData): { readonly contentType: string; readonly body: string } {
  let boundary = 'automate-addresses';
  while (file.includes(boundary)) boundary += '-';
  const fields = Object.entries(data).map(([name, value]) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`);
  const upload = 'Content-Disposition: form-data; name="addressFile"; filename="addresses.csv"\r\nContent-Type: text/csv';
  const parts = [`${upload}\r\n\r\n${file}`, ...fields].map((part) => `--${boundary}\r\n${part}\r\n`);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: `${parts.join('')}--${boundary}--\r\n` };
}

/** The columns of a row in a response. The columns after the side of the street exist only if codes of geographic units were requested. */
type BatchRow = readonly [number: string, sent: string, status: string, ...more: string[]];

function documentsIn(response: HttpResponse, withGeographies: boolean): ReadonlyMap<number, LookupDocument> {
  const start = textStart(response, 2000);
  if (/^\s*</.test(start)) {
    const found = `${response.header('content-type') ?? 'no content type'}: ${excerpt(start)}`;
    throw new Failure('parse', `expected CSV, found ${found}`, { status: response.status, retryable: true });
  }
  const rows = (readBody(response, 'rows', true) ?? []) as unknown as BatchRow[];
  const last = response.body.at(-1) === 0x0a ? undefined : rows.at(-1);
  return new Map(rows.filter((row) => isComplete(row, withGeographies, row === last)).map((row) => [Number(row[0]), documentOfRow(row)]));
}

/** True unless the row is cut off. `isOpen` is true if the row's line does not end, so that its last cell might be incomplete. */
function isComplete([, , status, ...more]: BatchRow, withGeographies: boolean, isOpen: boolean): boolean {
  if (status !== 'Match') return status === 'No_Match' || status === 'Tie';
  const [columns, end] = withGeographies ? ([9, /^\d{4}$/] as const) : ([5, /^[LR]$/] as const);
  const [, , coordinates = ''] = more;
  return more.length >= columns && /^-?[\d.]+,-?[\d.]+$/.test(coordinates) && (!isOpen || end.test(more.at(-1) ?? ''));
}

function documentOfRow([, , status, ...more]: BatchRow): LookupDocument {
  const question = { address: {} };
  if (status !== 'Match') return geocodeDocument([], question, 'census-bureau', status === 'Tie');
  const [, address = '', coordinates = '', , , ...units] = more;
  const [lon = '', lat = ''] = coordinates.split(',');
  const fips = units.length > 0 ? { fips: fipsWithin(units.join('')) } : {};
  return geocodeDocument([{ ...matchedPlace(address, lat, lon), ...fips }], question, 'census-bureau');
}

/** Returns a line of CSV with every cell in quotes. Control characters become spaces, so that a cell cannot end the line. */
function csvLine(cells: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  const quoted = cells.map((cell) => `"${cell.replace(/[\x00-\x1f\x7f]/g, ' ').replaceAll('"', '""')}"`);
  return `${quoted.join(',')}\n`;
}

/** The versions of the census data that the geocoder uses. */
export type CensusData = { readonly benchmark: string; readonly vintage: string };

/** Under the geocoder's names. Throws a Failure if there is no street, because the geocoder refuses such an address. */
export function addressQuery({ street = '', city = '', state = '', postcode = '' }: AddressParts): Record<string, string> {
  const parts = { street: street.trim(), city: city.trim(), state: state.trim(), zip: postcode.trim() };
  if (parts.street === '') throw refusedValue('expected a street, because census-us finds only houses, found none');
  return Object.fromEntries(Object.entries(parts).filter(([, text]) => text !== ''));
}

export const unitedStates = { country: 'United States of America', countryCode: 'US' };

/** Parses an address such as `4600 SILVER HILL RD, WASHINGTON, DC, 20233`. Throws a Failure if the coordinates are invalid. */
export function matchedPlace(address: string, lat: Value, lon: Value): FoundPlace {
  const [line = '', city, state, postcode] = address.split(', ');
  const [, housenumber, street] = /^(\d\S*) (.+)$/.exec(line) ?? [];
  return {
    ...pointIn(lat, lon),
    ...{ level: 'house', name: address, housenumber, street: street ?? line, city, postcode },
    regionCode: state,
    region: usStates.get(state ?? ''),
    ...unitedStates,
  };
}

const names = [
  'AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware, DC District of Columbia',
  'FL Florida, GA Georgia, HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa, KS Kansas, KY Kentucky, LA Louisiana, ME Maine',
  'MD Maryland, MA Massachusetts, MI Michigan, MN Minnesota, MS Mississippi, MO Missouri, MT Montana, NE Nebraska, NV Nevada',
  'NH New Hampshire, NJ New Jersey, NM New Mexico, NY New York, NC North Carolina, ND North Dakota, OH Ohio, OK Oklahoma, OR Oregon',
  'PA Pennsylvania, RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee, TX Texas, UT Utah, VT Vermont, VA Virginia',
  'WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming, PR Puerto Rico, VI U.S. Virgin Islands, GU Guam, AS American Samoa',
  'MP Northern Mariana Islands',
];

/** The states and territories of the USA, keyed by postal code. */
export const usStates: ReadonlyMap<string, string> = new Map(
  names.flatMap((line) => line.split(', ')).map((state) => [state.slice(0, 2), state.slice(3)]),
);
