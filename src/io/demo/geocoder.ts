import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { answerWith, type DemoAnswer, type Route } from './answer.ts';

/** A house, and the tract of the census in which it stands. */
interface House {
  readonly number: string;
  /** The words of its street that tell it from others. */
  readonly street: string;
  readonly line: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  readonly lon: number;
  readonly lat: number;
  readonly tract: string;
}

/** The houses that it finds. */
const houses: readonly House[] = [
  house('1600 PENNSYLVANIA AVE NW, WASHINGTON, DC, 20500', 'PENNSYLVANIA', [-77.03654, 38.89767], '11001980000'),
  house('233 S WACKER DR, CHICAGO, IL, 60606', 'WACKER', [-87.63591, 41.87888], '17031839100'),
  house('350 5TH AVE, NEW YORK, NY, 10118', '5TH', [-73.98566, 40.74844], '36061007600'),
  house('4600 SILVER HILL RD, WASHINGTON, DC, 20233', 'SILVER HILL', [-76.92744, 38.84599], '24033802405'),
];

function house(address: string, street: string, [lon, lat]: readonly [number, number], tract: string): House {
  const [line = '', city = '', state = '', zip = ''] = address.split(', ');
  return { number: line.split(' ')[0] ?? '', street, line, city, state, zip, lon, lat, tract };
}

/** The geocoder of the US census, for four houses. */
export function geocoderRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: /^\/geocoder\/(locations|geographies)\/(?:oneline)?address$/,
      answer: (kind, { url }) => findAddresses(kind, queryOf(url)),
    },
    { method: 'POST', path: /^\/geocoder\/(locations|geographies)\/addressbatch$/, answer: findAll },
    { method: 'GET', path: /^\/geocoder\/geographies\/coordinates$/, answer: (_, { url }) => around(queryOf(url)) },
  ];
}

function queryOf(url = ''): URLSearchParams {
  return new URL(url, 'http://localhost').searchParams;
}

function findAddresses(kind: string, query: URLSearchParams): DemoAnswer {
  const refusal = missing(query, ['benchmark', ...(kind === 'geographies' ? ['vintage'] : []), query.has('street') ? 'street' : 'address']);
  if (refusal) return refusal;
  const found = housesAt(['street', 'city', 'state', 'zip', 'address'].flatMap((name) => query.get(name) ?? []));
  const addressMatches = found.map((one) => ({
    matchedAddress: addressOf(one),
    coordinates: { x: one.lon, y: one.lat },
    tigerLine: { side: 'L', tigerLineId: '76355984' },
    addressComponents: { zip: one.zip, streetName: one.street, city: one.city, state: one.state },
    ...(kind === 'geographies' && { geographies: geographiesOf(one) }),
  }));
  return answerWith({ result: { input: Object.fromEntries(query), addressMatches } });
}

/** The houses that the parts of an address fit. */
function housesAt(parts: readonly string[]): House[] {
  const words = parts.join(' ').toUpperCase();
  return houses.filter(
    ({ number, street, zip, city }) =>
      [number, street].every((word) => words.includes(word)) && [zip, city].some((word) => words.includes(word)),
  );
}

function addressOf({ line, city, state, zip }: House): string {
  return [line, city, state, zip].join(', ');
}

/** Takes a form with a file of addresses. Answers a CSV, in the reverse order. */
async function findAll(kind: string, request: IncomingMessage): Promise<DemoAnswer> {
  const { 'content-type': type = '' } = request.headers;
  const form = await new Response(await text(request), { headers: { 'content-type': type } }).formData().catch(() => undefined);
  const file = form?.get('addressFile');
  if (!form?.get('benchmark') || !(file instanceof Blob))
    return answerWith({ errors: ['expected addressFile and benchmark'], status: '400' }, 400);
  const rows: string[][] = parse(await file.text(), { relaxColumnCount: true });
  const body = rows.reverse().map(([number = '', ...address]) => `${lineFor(number, address, kind)}\n`);
  return { status: 200, headers: { 'content-type': 'text/csv;charset=UTF-8' }, body: body.join('') };
}

function lineFor(number: string, address: readonly string[], kind: string): string {
  const [found] = housesAt(address);
  const cells = [number, address.join(', '), found ? 'Match' : 'No_Match'];
  if (found) {
    cells.push('Exact', addressOf(found), `${found.lon},${found.lat}`, '76355984', 'L');
    const { tract } = found;
    if (kind === 'geographies') cells.push(tract.slice(0, 2), tract.slice(2, 5), tract.slice(5), '1000');
  }
  return cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');
}

/** The units around a point that is within about 1 km of a house. */
function around(query: URLSearchParams): DemoAnswer {
  const refusal = missing(query, ['x', 'y', 'benchmark', 'vintage']);
  if (refusal) return refusal;
  const near = houses.find(({ lon, lat }) => Math.hypot(lon - Number(query.get('x')), lat - Number(query.get('y'))) < 0.01);
  return answerWith({ result: { input: Object.fromEntries(query), geographies: near ? geographiesOf(near) : {} } });
}

function missing(query: URLSearchParams, names: readonly string[]): DemoAnswer | undefined {
  const errors = names.filter((name) => !query.get(name)).map((name) => `${name} cannot be empty`);
  if (query.get('format') !== 'json') errors.push('expected format=json');
  return errors.length === 0 ? undefined : answerWith({ errors, status: '400' }, 400);
}

/** The tract is real, the block is invented. */
function geographiesOf({ tract, state }: House): object {
  const unit = (code: string, NAME: string) => [{ GEOID: code, NAME, BASENAME: NAME.split(' ').at(-1) }];
  return {
    States: [{ GEOID: tract.slice(0, 2), NAME: state, BASENAME: state, STUSAB: state }],
    Counties: unit(tract.slice(0, 5), `County ${tract.slice(2, 5)}`),
    'Census Tracts': unit(tract, `Census Tract ${Number(tract.slice(5)) / 100}`),
    '2020 Census Blocks': unit(`${tract}1000`, 'Block 1000'),
  };
}
