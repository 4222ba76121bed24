import { answerWith, type DemoAnswer, type Route, refuse } from './answer.ts';

/** Some tracts, by county. The codes are real; all figures are invented. */
const tracts: Readonly<Record<string, readonly string[]>> = {
  '11001': ['006202', '010100', '980000'],
  '17031': ['320100', '839000', '839100'],
  '24033': ['802404', '802405', '802406'],
  '36061': ['007400', '007600', '008400'],
};

const counties = Object.keys(tracts);

/** The places of a unit's code, by the name of its column. */
const columns = { state: [0, 2], county: [2, 5], tract: [5, 11], 'block group': [11, 12] } as const;

/** The API of the American Community Survey, with any key or without a key. */
export function censusRoute(): Route {
  return {
    method: 'GET',
    path: /^\/data\/(\d{4})\/acs\/acs5$/,
    answer: (_, { url }) => survey(new URL(url ?? '', 'http://localhost').searchParams),
  };
}

function survey(query: URLSearchParams): DemoAnswer {
  const codes = (query.get('get') ?? '').split(',');
  const unknown = codes.find((code) => !/^(?:NAME|[A-Z]\d{5}[A-Z]*_\d{3}[EM])$/.test(code));
  if (unknown !== undefined) return plainAnswer(400, `error: unknown variable '${unknown}'`);
  const units = unitsOf(query.get('for') ?? '', query.get('in') ?? '');
  if (!units) return plainAnswer(400, 'error: unknown/unsupported geography hierarchy');
  if (units.codes.length === 0) return { status: 204, body: '' };
  const rows = units.codes.map((code) => [...codes.map((variable) => figureOf(code, variable)), ...units.parts(code)]);
  return answerWith([[...codes, ...units.columns], ...rows]);
}

function plainAnswer(status: number, body: string): DemoAnswer {
  return { status, headers: { 'content-type': 'text/plain' }, body };
}

interface Units {
  readonly columns: readonly string[];
  readonly codes: readonly string[];
  parts(code: string): string[];
}

/** The units that a query asks for; absent for a query of another form. */
function unitsOf(wanted: string, within: string): Units | undefined {
  const [, zcta] = /^zip code tabulation area:(\d{5})$/.exec(wanted) ?? [];
  if (zcta !== undefined) return { columns: ['zip code tabulation area'], codes: [zcta], parts: (code) => [code] };
  const [, state = '', county = '', tract = ''] = /^(?:state:(\d\d)(?: county:(\d{3})(?: tract:(\d{6}))?)?)?$/.exec(within) ?? [];
  const names = Object.keys(columns) as (keyof typeof columns)[];
  const level = names.indexOf(wanted.replace(/:\*$/, '') as keyof typeof columns);
  if (level < 0 || level !== [state, county, tract].filter(Boolean).length || !wanted.endsWith(':*')) return undefined;
  const held = names.slice(0, level + 1);
  const codes = allCodes(level).filter((code) => code.startsWith(state + county + tract));
  return { columns: held, codes, parts: (code) => held.map((name) => code.slice(...columns[name])) };
}

/** The codes of all units of a level: 0 for states, 3 for block groups. */
function allCodes(level: number): string[] {
  const ends = [2, 5];
  if (level < 2) return [...new Set(counties.map((code) => code.slice(0, ends[level])))];
  const codes = counties.flatMap((county) => (tracts[county] ?? []).map((tract) => county + tract));
  return level === 2 ? codes : codes.flatMap((code) => ['1', '2', '3'].map((group) => code + group));
}

/** An invented figure. Tracts without inhabitants, such as the National Mall, have no medians. */
function figureOf(code: string, variable: string): string {
  if (variable === 'NAME') return `Unit ${code}`;
  const isEmpty = /^.{5}98\d{4}/.test(code);
  const steps = seedOf(code + variable) % 1000;
  if (variable.startsWith('B01003')) return String(isEmpty ? 0 : 1200 + steps * 7);
  return isEmpty ? '-666666666' : String(40_000 + steps * 125);
}

/** A whole number that follows from a text. */
function seedOf(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + character.charCodeAt(0)) % 1_000_003;
  return sum;
}

/** Invented values of two years, by indicator. */
const indicators: Readonly<Record<string, { readonly from: number; readonly step: number }>> = {
  'SP.POP.TOTL': { from: 1_000_000, step: 77_000 },
  'NY.GDP.PCAP.CD': { from: 2_000, step: 85 },
};

const years = ['2024', '2023'];

/** The API of the World Bank. `countries`: names by code. */
export function worldBankRoute(countries: Readonly<Record<string, string>>): Route {
  return { method: 'GET', path: /^\/v2\/country\/([A-Z]{2}\/indicator\/[\w.]+)$/, answer: (name, { url }) => indicator(name, url ?? '') };

  function indicator(name: string, url: string): DemoAnswer {
    const [country = '', , code = ''] = name.split('/');
    const { searchParams } = new URL(url, 'http://localhost');
    const values = indicators[code];
    if (searchParams.get('format') !== 'json') return refuse(400, 'expected format=json');
    if (!values) return invalid('The provided parameter value is not valid');
    const date = searchParams.get('mrnev') === '1' ? years[0] : searchParams.get('date');
    const about = { page: 1, pages: 1, per_page: 50, total: 1, sourceid: '2', lastupdated: '2026-07-01' };
    if (countries[country] === undefined) return answerWith([{ ...about, page: 0, pages: 0, total: 0 }, null]);
    const value = years.includes(date ?? '') ? values.from + values.step * (seedOf(`${country}${date}`) % 1000) : null;
    const point = { indicator: { id: code, value: code }, country: { id: country, value: countries[country] }, date, value };
    return answerWith([about, [point]]);
  }
}

/** A refusal comes with status 200. */
function invalid(value: string): DemoAnswer {
  return answerWith([{ message: [{ id: '120', key: 'Invalid value', value }] }]);
}
