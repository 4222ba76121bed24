import { excerpt } from '../../core/answer/response.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../core/value/value.ts';
import { type Coordinates, isCoordinates } from '../coordinates.ts';
import type { FoundPoint } from '../points.ts';
import { overpassQuery } from './overpass-query.ts';
import type { PointsProvider } from './provider.ts';

/** An Overpass server, which queries OpenStreetMap. https://wiki.openstreetmap.org/wiki/Overpass_API */
export const overpass: PointsProvider = {
  source: 'openstreetmap',
  server: 'https://overpass-api.de',
  perDay: { server: 'Overpass', max: 10_000 },
  // The public server asks clients to wait 30 s, 60 s and 120 s before retries.
  publicRetry: {
    max: 3,
    on: [429, 504, 'timeout', 'network'],
    backoff: { initial: 30_000, factor: 2, max: 120_000, jitter: false },
    max_wait: 86_400_000,
  },
  request: (question) => ({
    path: '/api/interpreter',
    contentType: 'application/x-www-form-urlencoded',
    body: `data=${encodeURIComponent(overpassQuery(question).toWellFormed())}`,
  }),
  refusal(body) {
    if (!isObject(body) || !Array.isArray(body.elements)) {
      return { message: `expected an object with elements, found ${excerpt(jsonOf(body))}` };
    }
    const { remark } = body;
    if (typeof remark !== 'string' || !remark.startsWith('runtime error')) return undefined;
    return { message: `the server says: ${excerpt(remark)}`, isTimeout: /timed out/i.test(remark) };
  },
  answer(body, limit) {
    const elements = (body as JsonObject).elements as Value[];
    // The server sorts elements by id before it cuts the response off, so the nearest point might be missing. Elements without coordinates
    // count towards the server's limit, too.
    return { points: elements.flatMap((element) => (isObject(element) ? pointOf(element) : [])), mayLackNearest: elements.length > limit };
  },
};

function pointOf({ type, id, center, tags, ...element }: JsonObject): FoundPoint[] {
  const { lat, lon } = isObject(center) ? center : element;
  const place = { lat: Number(lat), lon: Number(lon) } satisfies Coordinates;
  if (typeof type !== 'string' || !isCoordinates(place)) return [];
  return [{ id: `${type}/${jsonOf(id as Value)}`, ...place, tags: isObject(tags) ? (tags as Readonly<Record<string, string>>) : {} }];
}
