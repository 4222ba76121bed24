import { excerpt } from '../../core/answer/response.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';
import { type Coordinates, isCoordinates } from '../coordinates.ts';
import type { FoundPoint, Tags } from '../lookup.ts';
import { refusedValue } from '../refused-value.ts';
import type { AskedCategory, FoundPoints } from './points-document.ts';
import type { Area, Where } from './where-option.ts';

/** An Overpass server, which queries OpenStreetMap. https://wiki.openstreetmap.org/wiki/Overpass_API */
export const overpass = {
  server: 'https://overpass-api.de',
  perDay: { server: 'Overpass', max: 10_000 },
  // A flow cannot change these rules. The public server asks clients to wait 30 s, 60 s and 120 s before retries.
  publicRetry: {
    max: 3,
    on: [429, 504, 'timeout', 'network'] as (number | 'timeout' | 'network')[],
    backoff: { initial: 30_000, factor: 2, max: 120_000, jitter: false },
    max_wait: 86_400_000,
  },
  /** Throws a Failure (`request`) if the server would refuse the query. */
  request: (question: PointsQuestion) => ({
    path: '/api/interpreter',
    contentType: 'application/x-www-form-urlencoded',
    body: `data=${encodeURIComponent(overpassQuery(question).toWellFormed())}`,
  }),
  /** The error in a response with status 200. */
  refusal(body: Value): { readonly message: string; readonly isTimeout?: boolean } | undefined {
    if (!isObject(body) || !Array.isArray(body.elements)) {
      return { message: `expected an object with elements, found ${excerpt(jsonOf(body))}` };
    }
    const { remark } = body;
    if (typeof remark !== 'string' || !remark.startsWith('runtime error')) return undefined;
    return { message: `the server says: ${excerpt(remark)}`, isTimeout: /timed out/i.test(remark) };
  },
  answer(body: Value, limit: number): FoundPoints {
    const elements = (body as JsonObject).elements as Value[];
    // The server sorts elements by id before it cuts the response off, so the nearest point might be missing. Elements without coordinates
    // count towards the server's limit, too.
    return { points: elements.flatMap((element) => (isObject(element) ? pointOf(element) : [])), mayLackNearest: elements.length > limit };
  },
};

interface PointsQuestion {
  readonly where: Where;
  /** A point must belong to one of these categories. The list is empty to search for any category. */
  readonly categories: readonly AskedCategory[];
  readonly chain: Tags | undefined;
  /** One more point is requested, which shows whether there are more. */
  readonly limit: number;
}

function pointOf({ type, id, center, tags, ...element }: JsonObject): FoundPoint[] {
  const { lat, lon } = isObject(center) ? center : element;
  const place = { lat: Number(lat), lon: Number(lon) } satisfies Coordinates;
  if (typeof type !== 'string' || !isCoordinates(place)) return [];
  return [{ id: `${type}/${jsonOf(id as Value)}`, ...place, tags: isObject(tags) ? (tags as Readonly<Record<string, string>>) : {} }];
}

/** The time in seconds and the memory in bytes that the server may use for the query. */
const settings = '[out:json][timeout:60][maxsize:268435456];';

/** Returns the query in Overpass QL, on one line. Throws a Failure (`request`) if a value contains a control character. */
function overpassQuery({ where, categories, chain, limit }: PointsQuestion): string {
  const place = placeText(where);
  const area = isArea(where) ? `${areaText(where)}->.a;` : '';
  const filters = (categories.length === 0 ? [{ tags: {} }] : categories).map(
    ({ tags }) => `nwr${tagText({ ...tags, ...chain })}${place};`,
  );
  const union = filters.length === 1 ? (filters[0] as string) : `(${filters.join('')});`;
  return `${settings}${area}${union}out tags center ${limit + 1};`;
}

function placeText(where: Where): string {
  if ('near' in where) return `(around:${number(where.radius)},${number(where.near.lat)},${number(where.near.lon)})`;
  return isArea(where) ? '(area.a)' : `(${where.bbox.map(number).join(',')})`;
}

function isArea(where: Where): where is Area {
  return !('near' in where) && !('bbox' in where);
}

function areaText(area: Area): string {
  if ('country' in area) return `area${tagText({ 'ISO3166-1': area.country, admin_level: '2' })}`;
  if ('region' in area) return `area${tagText({ 'ISO3166-2': area.region })}`;
  const [kind, id] = area.osm.split('/');
  return `area(${(kind === 'relation' ? 3_600_000_000 : 2_400_000_000) + Number(id)})`;
}

function tagText(tags: Tags): string {
  return Object.entries(tags)
    .map(([key, value]) => (value === '*' ? `[${quoted(key)}]` : `[${quoted(key)}=${quoted(value)}]`))
    .join('');
}

function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.exec(text)?.[0];
  if (control === undefined) return `"${text.replace(/[\\"]/g, '\\$&')}"`;
  const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  throw refusedValue(`expected a name without control characters, found U+${code}`);
}

function number(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(12).replace(/\.?0+$/, '') : text;
}
