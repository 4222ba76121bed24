import { readQuery } from './query.mjs';

/** @typedef {import('./answers.mjs').Request} Request */
/** @typedef {import('./answers.mjs').Answer} Answer */

/** 200 invented tracts of a county. */
const invented = Array.from({ length: 200 }, (_, index) => String((index + 1) * 100).padStart(6, '0'));

/** The tracts of some counties; those of Washington, Suitland and Manhattan are real, and the last of Chicago. */
const tracts = {
  '06037': invented,
  11001: ['006202', '010100', '980000'],
  17031: [...invented, '320100', '839000', '839100'],
  17043: invented,
  24033: ['802404', '802405', '802406'],
  36061: ['007400', '007600', '008400'],
  72001: invented,
};

/** The places of a unit's code, by the name of its column. */
const columns = { state: [0, 2], county: [2, 5], tract: [5, 11], 'block group': [11, 12] };

const levels = Object.keys(columns);

const variables = ['NAME', 'B01003_001E', 'B19013_001E', 'B25077_001E'];

/**
 * Answers as the American Community Survey does, to queries of the documented forms only.
 * @param {Request} request
 * @param {string} [key] the only key that is accepted; without it any key is, and none
 * @returns {Answer}
 */
export function answerSurvey({ method, path }, key) {
  const { query, errors } = readQuery(path, ['get', 'for'], ['in', 'key']);
  const [, year = ''] = /^\/data\/(\d{4})\/acs\/acs5\?/.exec(path) ?? [];
  if (year === '' || Number(year) > 2024) return { status: 404, headers: html, body: `<h1>error 404</h1> no dataset of ${year}` };
  if (key !== undefined && query.get('key') !== key) return refusedKey(query.has('key') ? 'invalid_key' : 'missing_key');
  const codes = (query.get('get') ?? '').split(',');
  const unknown = codes.find((code, index) => !variables.includes(code) || codes.indexOf(code) !== index);
  if (unknown !== undefined || codes.length > 50) return refuse(`unknown variable '${unknown}'`);
  if (method !== 'GET' || errors.length > 0) return refuse(errors.join(', '));
  const units = unitsOf(query.get('for') ?? '', query.get('in') ?? '');
  if (!units) return refuse('unknown/unsupported geography hierarchy');
  if (units.codes.length === 0) return { status: 204 };
  const rows = units.codes.map((code) => [...codes.map((variable) => figureOf(code, variable)), ...units.parts(code)]);
  return { body: [[...codes, ...units.columns], ...rows] };
}

const html = { 'content-type': 'text/html' };

function refuse(text) {
  return { status: 400, headers: { 'content-type': 'text/plain' }, body: `error: ${text}` };
}

function refusedKey(page) {
  return { status: 302, headers: { location: `https://api.census.gov/data/${page}.html`, 'x-datawebapi-keyerror': '1' } };
}

/** The units that a query asks for; undefined for a query of another form. */
function unitsOf(wanted, within) {
  const [, zcta] = /^zip code tabulation area:(\d{5})$/.exec(wanted) ?? [];
  if (zcta !== undefined && within === '') return { columns: ['zip code tabulation area'], codes: [zcta], parts: (code) => [code] };
  const [, state = '', county = '', tract = ''] = /^(?:state:(\d\d)(?: county:(\d{3})(?: tract:(\d{6}))?)?)?$/.exec(within) ?? [];
  const level = levels.indexOf(wanted.replace(/:\*$/, ''));
  if (level < 0 || level !== [state, county, tract].filter(Boolean).length || !wanted.endsWith(':*')) return undefined;
  const held = levels.slice(0, level + 1);
  const codes = allCodes(level).filter((code) => code.startsWith(state + county + tract));
  return { columns: held, codes, parts: (code) => held.map((name) => code.slice(...columns[name])) };
}

/** The codes of all units of a level: 0 for states, 3 for block groups. */
function allCodes(level) {
  const counties = Object.keys(tracts);
  if (level < 2) return [...new Set(counties.map((code) => code.slice(0, [2, 5][level])))];
  const codes = counties.flatMap((county) => tracts[county].map((tract) => county + tract));
  return level === 2 ? codes : codes.flatMap((code) => ['1', '2', '3'].map((group) => code + group));
}

/**
 * An invented figure: the number of people follows from the last digits of the code, and the income from the number of people. Units
 * without people, such as the National Mall, and units whose code ends in 300 have no income; the value of a home is not known anywhere.
 */
function figureOf(code, variable) {
  const people = /^.{5}98\d{4}/.test(code) ? 0 : 1000 + Number(code.slice(-4));
  if (variable === 'NAME') return `Unit ${code}`;
  if (variable === 'B01003_001E') return String(people);
  if (variable === 'B25077_001E') return '-888888888.0';
  return people === 0 || code.endsWith('300') ? '-666666666' : String(40_000 + 5 * people);
}

/** Values of Germany by indicator and year. */
const indicators = {
  'SP.POP.TOTL': { 2023: 83280000, 2024: 83510950 },
  'NY.GDP.PCAP.CD': { 2023: 54343.2, 2024: null },
};

/**
 * Answers as the World Bank does, for Germany. A refusal comes with status 200.
 * @param {Request} request
 * @returns {Answer}
 */
export function answerWorldBank({ method, path }) {
  const { query, errors } = readQuery(path, ['format'], ['mrnev', 'date']);
  const [, country = '', code = ''] = /^\/v2\/country\/([A-Z]{2})\/indicator\/([\w.]+)\?/.exec(path) ?? [];
  if (method !== 'GET' || errors.length > 0 || query.get('format') !== 'json') return { status: 400, body: 'bad request' };
  const values = indicators[code];
  if (!values) {
    const message = [{ id: '120', key: 'Invalid value', value: 'The provided parameter value is not valid' }];
    return { body: [{ message }] };
  }
  const page = { page: 1, pages: 1, per_page: 50, total: 1, sourceid: '2', lastupdated: '2026-07-01' };
  if (country !== 'DE') return { body: [{ ...page, page: 0, pages: 0, total: 0 }, null] };
  const newest = Object.keys(values).findLast((year) => values[year] !== null);
  const date = query.get('mrnev') === '1' ? newest : query.get('date');
  const about = { indicator: { id: code, value: code }, country: { id: 'DE', value: 'Germany' }, countryiso3code: 'DEU' };
  return { body: [page, [{ ...about, date, value: values[date] ?? null, unit: '', obs_status: '', decimal: 0 }]] };
}
