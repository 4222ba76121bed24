import type { IncomingHttpHeaders } from 'node:http';
import type { FakeAnswer } from './fake-answer.ts';
import { type HttpServer, httpServer } from './http-server.ts';

/** What of a request the servers look at. */
interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<IncomingHttpHeaders>;
}

const names = ['NAME', 'B01003_001E', 'B19013_001E', 'B25077_001E'];

/** 200 tracts of Cook County and of Los Angeles County each, with three block groups. */
const tracts = Array.from({ length: 200 }, (_, index) => String((index + 1) * 100).padStart(6, '0'));
const counties: Readonly<Record<string, readonly string[]>> = { '17': ['031', '043'], '06': ['037'], '72': ['001'] };
const zctas = ['60614', '02138', '00601'];

/** The figures of a unit: its number of people follows from its code. Units whose code ends in 300 have no median income. */
function figuresOf(geoid: string, code: string): string {
  if (code === 'NAME') return `Unit ${geoid}`;
  if (code === 'B01003_001E') return String(1000 + Number(geoid.slice(-4)));
  if (code === 'B19013_001E') return geoid.endsWith('300') ? '-666666666' : '52500';
  return '-888888888.0';
}

const columnsOf = { state: ['state'], county: ['state', 'county'], tract: ['state', 'county', 'tract'] } as const;

/** The columns and the codes of the units that a query asks for; absent for a query that is not of the forms that the server takes. */
function unitsOf(wanted: string | null, within: string | null): { columns: readonly string[]; units: string[][] } | undefined {
  const county = /^state:(\d\d) county:(\d{3})$/.exec(within ?? '');
  const tract = /^state:(\d\d) county:(\d{3}) tract:(\d{6})$/.exec(within ?? '');
  const zcta = /^zip code tabulation area:(\d{5})$/.exec(wanted ?? '');
  if (wanted === 'state:*' && within === null) return { columns: columnsOf.state, units: Object.keys(counties).map((code) => [code]) };
  if (wanted === 'county:*' && /^state:\d\d$/.test(within ?? '')) {
    const state = (within ?? '').slice(6);
    return { columns: columnsOf.county, units: (counties[state] ?? []).map((code) => [state, code]) };
  }
  if (wanted === 'tract:*' && county) {
    const [, state = '', code = ''] = county;
    const found = counties[state]?.includes(code) ? tracts : [];
    return { columns: columnsOf.tract, units: found.map((one) => [state, code, one]) };
  }
  if (wanted === 'block group:*' && tract) {
    const groups = tracts.includes(tract[3] as string) ? ['1', '2', '3'] : [];
    return { columns: [...columnsOf.tract, 'block group'], units: groups.map((group) => [...tract.slice(1), group]) };
  }
  if (zcta && within === null) {
    return { columns: ['zip code tabulation area'], units: zctas.filter((one) => one === zcta[1]).map((one) => [one]) };
  }
  return undefined;
}

const wrong = (text: string): FakeAnswer => ({ status: 400, body: `error: ${text}`, headers: { 'content-type': 'text/plain' } });

function refusedKey(page: string): FakeAnswer {
  return { status: 302, headers: { location: `https://api.census.gov/data/${page}.html`, 'x-datawebapi-keyerror': '1' } };
}

/** Answers as api.census.gov does: it takes only queries of the documented forms. `key`: the only one that it takes. */
export function censusAnswer({ method, path }: Asked, key: string): FakeAnswer {
  const { pathname, searchParams } = new URL(path, 'https://api.census.gov');
  const [, year = ''] = /^\/data\/(\d{4})\/acs\/acs5$/.exec(pathname) ?? [];
  const unknown = [...searchParams.keys()].filter((name) => !['get', 'for', 'in', 'key'].includes(name));
  if (method !== 'GET' || unknown.length > 0) return wrong(`unknown predicate ${unknown}`);
  if (year === '' || Number(year) > 2024) return { status: 404, body: `<h1>error 404</h1> no dataset of ${year}` };
  if (!searchParams.has('key')) return refusedKey('missing_key');
  if (searchParams.get('key') !== key) return refusedKey('invalid_key');
  const codes = (searchParams.get('get') ?? '').split(',');
  const other = codes.find((code, index) => !names.includes(code) || codes.indexOf(code) !== index);
  if (other !== undefined || codes.length > 50) return wrong(`unknown variable '${other}'`);
  const found = unitsOf(searchParams.get('for'), searchParams.get('in'));
  if (!found) return wrong(`unknown/unsupported geography hierarchy`);
  if (found.units.length === 0) return { status: 204 };
  const rows = found.units.map((unit) => [...codes.map((code) => figuresOf(unit.join(''), code)), ...unit]);
  return { body: [[...codes, ...found.columns], ...rows] };
}

const indicators: Readonly<Record<string, Readonly<Record<string, number | null>>>> = {
  'SP.POP.TOTL': { 2023: 83280000, 2024: 83510950 },
  'NY.GDP.PCAP.CD': { 2023: 54343.2, 2024: null },
};

/** Answers as api.worldbank.org does, for Germany. A refusal comes with status 200. */
export function worldBankAnswer({ method, path }: Asked): FakeAnswer {
  const { pathname, searchParams } = new URL(path, 'https://api.worldbank.org');
  const [, country = '', code = ''] = /^\/v2\/country\/([A-Z]{2})\/indicator\/([\w.]+)$/.exec(pathname) ?? [];
  const unknown = [...searchParams.keys()].filter((name) => !['format', 'mrnev', 'date'].includes(name));
  if (method !== 'GET' || unknown.length > 0 || searchParams.get('format') !== 'json') return { status: 400, body: 'bad request' };
  const values = indicators[code];
  if (!values) {
    const message = [{ id: '120', key: 'Invalid value', value: 'The provided parameter value is not valid' }];
    return { body: [{ message }] };
  }
  const page = { page: 1, pages: 1, per_page: 50, total: 1, sourceid: '2', lastupdated: '2026-07-01' };
  if (country !== 'DE') return { body: [{ ...page, page: 0, pages: 0, total: 0 }, null] };
  const years = Object.keys(values).reverse();
  const date = searchParams.get('mrnev') === '1' ? years.find((year) => values[year] !== null) : searchParams.get('date');
  const about = { indicator: { id: code, value: code }, country: { id: 'DE', value: 'Germany' }, countryiso3code: 'DEU' };
  return { body: [page, [{ ...about, date, value: values[date ?? ''] ?? null, unit: '', obs_status: '', decimal: 0 }]] };
}

/** A server on loopback that answers as the two do. */
export function censusServer(key: string, more?: (asked: Asked) => FakeAnswer | undefined): Promise<HttpServer> {
  return httpServer((request, response) => {
    const {
      status = 200,
      headers,
      body = '',
    } = more?.(request) ?? (request.path.startsWith('/v2/') ? worldBankAnswer(request) : censusAnswer(request, key));
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response
      .writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json', ...headers })
      .end(status === 204 ? undefined : text);
  });
}
