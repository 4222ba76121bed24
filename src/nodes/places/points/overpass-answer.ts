import { cleaned, excerpt, readBody } from '../../../core/answer/response.ts';
import { Failure } from '../../../core/failure.ts';
import { type Coordinates, isCoordinates } from '../../../core/lookups/coordinates.ts';
import type { FoundPoint } from '../../../core/lookups/points.ts';
import type { HttpResponse } from '../../../core/ports.ts';
import { isObject, type JsonObject, jsonOf, type Value } from '../../../core/value/value.ts';

/** Refuses an answer that holds an error (https://wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL). Throws a Failure. */
export function refuseRemark(response: HttpResponse): void {
  const body = readBody(response, 'json', true) ?? null;
  const { status } = response;
  if (!isObject(body) || !Array.isArray(body.elements)) {
    throw new Failure('answer', `expected an object with elements, found ${excerpt(jsonOf(body))}`, { status });
  }
  const { remark } = body;
  if (typeof remark !== 'string' || !remark.startsWith('runtime error')) return;
  const isTimeout = /timed out/i.test(remark);
  throw new Failure(isTimeout ? 'timeout' : 'answer', `the server says: ${excerpt(remark)}`, { status, retryable: isTimeout });
}

/** The text of an error page, without its tags. */
export function pageText({ body }: HttpResponse): string {
  const page = new TextDecoder().decode(body.subarray(0, 20_000));
  const text = page
    .replace(/<(head|style|script)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => ({ lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" })[name] as string);
  return excerpt(cleaned(text).replace(/\s+/g, ' ').trim(), 300);
}

/** The points of an answer. */
export function pointsOf(response: HttpResponse): FoundPoint[] {
  const body = readBody(response, 'json', true) as JsonObject;
  return (body.elements as Value[]).flatMap((element) => (isObject(element) ? pointOf(element) : []));
}

function pointOf({ type, id, center, tags, ...element }: JsonObject): FoundPoint[] {
  const { lat, lon } = isObject(center) ? center : element;
  const place = { lat: Number(lat), lon: Number(lon) } satisfies Coordinates;
  if (typeof type !== 'string' || !isCoordinates(place)) return [];
  return [{ id: `${type}/${jsonOf(id as Value)}`, ...place, tags: isObject(tags) ? (tags as Readonly<Record<string, string>>) : {} }];
}
