import { textStart } from '../../core/answer/charset.ts';
import { excerpt, readBody } from '../../core/answer/response.ts';
import { CredentialRefused, Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';
import { parseJson } from '../../core/value/json.ts';
import { objectOf, type Value } from '../../core/value/value.ts';
import { queryText, refuseUnsuccessful } from '../lookup/server-requests.ts';
import type { LookupDocument } from '../lookup.ts';
import { refusedValue, unexpectedText } from '../refused-value.ts';
import {
  type CensusOptions,
  type CensusProvider,
  type CensusQuestions,
  type CensusVariable,
  censusDocument,
  checkedText,
  variablesTemplate,
  yearForm,
} from './provider.ts';

const source = 'census-bureau';
const signUp = 'https://api.census.gov/data/key_signup.html';
const credential = 'census-api-key';

/** The provider for the American Community Survey, 5-year data. https://www.census.gov/data/developers/data-sets/acs-5year.html */
export const usAcs5: CensusProvider = {
  source,
  server: 'https://api.census.gov',
  lacks: ['country'],
  key: {
    credential,
    hint: `a key is free: ${signUp}`,
    auth: (name) => ({ type: 'api_key', query: 'key', credential: name }),
  },
  questions,
  check: checkAcsAnswer,
};

/** The form of the variable codes in tables B and C, which this data set contains. */
const codeForm = { pattern: /^[A-Z]\d{5}[A-Z]*_\d{3}[EM]$/, expected: 'the code of a variable, such as B19013_001E' };

function questions(options: CensusOptions, context: BuildContext): CensusQuestions | undefined {
  const { year: written, geoid, zcta } = options;
  const [option, text] = geoid === undefined ? (['zcta', zcta] as const) : (['geoid', geoid] as const);
  checkUnit(options, context);
  if (written === undefined) context.missing(['year'], 'us-acs5 needs a year, such as year: 2024');
  if (text === undefined || written === undefined) return undefined;
  const codeOf = textTemplate(text);
  const yearOf = checkedText(written, yearForm, ['year'], context);
  const variablesOf = variablesTemplate(options, codeForm, context);
  return {
    count: 1,
    paths(fields) {
      const code = codeOf(fields);
      if (code.trim() === '') return [];
      const predicates = predicatesOf(readUnit(option, code));
      const codes = new Set(variablesOf(fields).map((variable) => variable.code));
      const query = { get: ['NAME', ...codes].join(','), ...predicates };
      return [`/data/${yearOf(fields)}/acs/acs5?${queryText(query)}`];
    },
    document: ([response], fields) =>
      acsDocument(response as HttpResponse, {
        unit: readUnit(option, codeOf(fields)),
        year: Number(yearOf(fields)),
        variables: variablesOf(fields),
      }),
    noMatch(fields) {
      const { level, geoid } = readUnit(option, codeOf(fields));
      return `there is no ${level} ${geoid} in the survey of ${yearOf(fields)}`;
    },
  };
}

function checkUnit({ geoid, zcta }: CensusOptions, { problem, missing }: BuildContext): void {
  if (geoid === undefined && zcta === undefined) missing(['geoid', 'zcta'], 'expected geoid or zcta, the unit to look up');
  if (geoid !== undefined && zcta !== undefined) problem(['zcta'], 'expected geoid or zcta, found both');
  const isWrong = (text: string | undefined, read: (text: string) => CensusUnit | undefined) =>
    text !== undefined && referencedFields(text).length === 0 && !read(text);
  if (isWrong(geoid, unitOf)) problem(['geoid'], noUnit('geoid', geoid ?? ''));
  if (isWrong(zcta, zctaOf)) problem(['zcta'], noUnit('zcta', zcta ?? ''));
}

/** Throws LimitReached if the server refuses the key. The refusal is a header, a redirect to a page that states it, or that page itself. */
function checkAcsAnswer(response: HttpResponse, options: CensusOptions): void {
  const { status } = response;
  const location = response.header('location') ?? '';
  const page = /(?:missing|invalid)_key/.exec(location)?.[0] ?? titleOfKeyPage(response);
  if (page !== undefined || response.header('x-datawebapi-keyerror') !== undefined || status === 401) {
    const name = options.credential ?? (options.connection === undefined ? credential : undefined);
    const key = name === undefined ? `of the connection "${options.connection}"` : `"${name}"`;
    const reason = page === undefined ? '' : ` (${page.replace('_', ' ').toLowerCase()})`;
    const facts = name === undefined ? undefined : ({ code: 'credential', details: { credential: name } } as const);
    throw new CredentialRefused(`the server refuses the key ${key}${reason}; a key is free: ${signUp}`, true, facts);
  }
  if (status === 204) return;
  refuseUnsuccessful(response);
  rowsOf(response);
}

function titleOfKeyPage(response: HttpResponse): string | undefined {
  if (!/html/i.test(response.header('content-type') ?? '')) return undefined;
  return /<(?:title|h1)>\s*((?:missing|invalid) key)/i.exec(textStart(response, 20_000))?.[1];
}

type AcsRow = ReadonlyMap<string, Value>;

/** The rows of each response, keyed by the code of their geographic unit. They are cached, because many records read the same response. */
const tables = new WeakMap<Uint8Array, ReadonlyMap<string, AcsRow>>();

function rowsOf(response: HttpResponse): ReadonlyMap<string, AcsRow> {
  const known = tables.get(response.body);
  if (known) return known;
  const table = readBody(response, 'json', true) ?? null;
  const isGrid = Array.isArray(table) && table.length > 0 && table.every(Array.isArray);
  if (!isGrid)
    throw new Failure('answer', `expected a table of rows, found ${excerpt(textStart(response, 2000))}`, { status: response.status });
  const [header = [], ...lines] = table as string[][];
  const rows = new Map(
    lines.map((line) => {
      const row = new Map(header.map((name, column) => [name, line[column] ?? null] as const));
      return [geoidOf(row), row] as const;
    }),
  );
  tables.set(response.body, rows);
  return rows;
}

function geoidOf(row: AcsRow): string {
  const zcta = row.get('zip code tabulation area');
  return String(zcta ?? ['state', 'county', 'tract', 'block group'].map((column) => row.get(column) ?? '').join(''));
}

function acsDocument(
  response: HttpResponse,
  { unit, year, variables }: { readonly unit: CensusUnit; readonly year: number; readonly variables: readonly CensusVariable[] },
): LookupDocument {
  const row = response.status === 204 ? undefined : rowsOf(response).get(unit.geoid);
  const values = objectOf(variables.map(({ field, code }) => [field, numberOf(row && cellOf(row, code, response))] as const));
  const name = row?.get('NAME') ?? null;
  return censusDocument(row !== undefined, { ...unit, name: name as string | null, year, values }, source);
}

function cellOf(row: AcsRow, code: string, { status }: HttpResponse): Value {
  const cell = row.get(code);
  if (cell === undefined) throw new Failure('answer', `the answer has no column ${code}`, { status });
  return cell;
}

/** Numbers that the census uses instead of a missing value, for example if there were too few responses for a median. */
const missingValues: ReadonlySet<number> = new Set([-222222222, -333333333, -555555555, -666666666, -888888888, -999999999]);

function numberOf(cell: Value | undefined): Value {
  const text = String(cell ?? '').trim();
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) || missingValues.has(Number(text))) return null;
  return parseJson(text);
}

interface CensusUnit {
  readonly level: 'state' | 'county' | 'tract' | 'block group' | 'zcta';
  readonly geoid: string;
}

/** By the number of digits in the code. A block's code begins with the code of its block group, which is used instead. */
const levels: Readonly<Record<number, CensusUnit['level']>> = {
  2: 'state',
  5: 'county',
  11: 'tract',
  12: 'block group',
  15: 'block group',
};

/** Undefined if the text is not a code. A leading zero that was lost, for example in a spreadsheet, is restored. */
function unitOf(text: string): CensusUnit | undefined {
  const code = text.trim();
  const digits = levels[code.length + 1] !== undefined && [1, 4, 10].includes(code.length) ? `0${code}` : code;
  const level = levels[digits.length];
  return level !== undefined && /^\d+$/.test(digits) ? { level, geoid: digits.slice(0, 12) } : undefined;
}

/** Accepts a ZIP code or a ZIP+4; undefined for other text. A leading zero that was lost is restored. */
function zctaOf(text: string): CensusUnit | undefined {
  const [, code] = /^(\d{4,5})(?: ?- ?\d{4})?$/.exec(text.trim()) ?? /^(\d{5})\d{4}$/.exec(text.trim()) ?? [];
  return code === undefined ? undefined : { level: 'zcta', geoid: code.padStart(5, '0') };
}

function noUnit(option: 'geoid' | 'zcta', text: string): string {
  const expected =
    option === 'zcta' ? 'a ZIP code of 5 digits' : 'a code of 2 (state), 5 (county), 11 (tract), 12 (block group) or 15 digits (block)';
  const code = text.trim();
  return `${unexpectedText(expected, code)}${/^\d+$/.test(code) ? `, which has ${code.length}` : ''}`;
}

function readUnit(option: 'geoid' | 'zcta', text: string): CensusUnit {
  const unit = option === 'zcta' ? zctaOf(text) : unitOf(text);
  if (!unit) throw refusedValue(noUnit(option, text));
  return unit;
}

/** Selects all units in the same larger unit, so that records can share a request. ZIP code tabulation areas are in no larger unit. */
function predicatesOf({ level, geoid }: CensusUnit): { readonly for: string; readonly in?: string } {
  const county = `state:${geoid.slice(0, 2)} county:${geoid.slice(2, 5)}`;
  if (level === 'state') return { for: 'state:*' };
  if (level === 'county') return { for: 'county:*', in: `state:${geoid.slice(0, 2)}` };
  if (level === 'tract') return { for: 'tract:*', in: county };
  if (level === 'block group') return { for: 'block group:*', in: `${county} tract:${geoid.slice(5, 11)}` };
  return { for: `zip code tabulation area:${geoid}` };
}
