import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { metresBetween } from '../../core/lookups/distance.ts';
import { answerWith, type DemoAnswer, type Route } from './answer.ts';

/** Invented shops of real chains around the middle of Berlin. */
const shops = [
  shop(1, ['Starbucks', 'Q37158', 'amenity', 'cafe'], [52.5211, 13.4106], 'Panoramastraße 1'),
  shop(2, ['Starbucks', 'Q37158', 'amenity', 'cafe'], [52.5164, 13.3811], 'Pariser Platz 4'),
  shop(3, ['REWE', 'Q16968817', 'shop', 'supermarket'], [52.5227, 13.4089], 'Rosenstraße 2'),
  shop(4, ['REWE', 'Q16968817', 'shop', 'supermarket'], [52.5259, 13.4016], 'Oranienburger Straße 9'),
  shop(5, ["McDonald's", 'Q38076', 'amenity', 'fast_food'], [52.5219, 13.4132], 'Alexanderplatz 7'),
];

function shop(
  id: number,
  [brand, wikidata, key, value]: readonly [string, string, string, string],
  [lat, lon]: readonly [number, number],
  address: string,
) {
  const [, street = '', housenumber = ''] = /^(.*) (\d+)$/.exec(address) ?? [];
  const place = { 'addr:street': street, 'addr:housenumber': housenumber, 'addr:city': 'Berlin', 'addr:country': 'DE' };
  return { type: 'node', id, lat, lon, tags: { [key]: value, name: brand, brand, 'brand:wikidata': wikidata, ...place } };
}

/** A server over a few points of interest, as Overpass answers: near a point, by the chain and the tags that a query names. */
export function overpassRoute(): Route {
  return { method: 'POST', path: /^\/api\/interpreter$/, answer: (_, request) => findPoints(request) };
}

async function findPoints(request: IncomingMessage): Promise<DemoAnswer> {
  const query = new URLSearchParams(await text(request)).get('data') ?? '';
  const [, radius, lat, lon] = /\(around:([\d.]+),(-?[\d.]+),(-?[\d.]+)\)/.exec(query) ?? [];
  if (radius === undefined) return answerWith({ error: 'the demo API knows queries around a point only' }, 400);
  const here = { lat: Number(lat), lon: Number(lon) };
  const tags = [...query.matchAll(/\["([^"]+)"="([^"]+)"\]/g)].map(([, key = '', value]) => [key, value] as const);
  const elements = shops.filter((one) => {
    const own: Readonly<Record<string, string>> = one.tags;
    return metresBetween(here, one) <= Number(radius) && tags.every(([key, value]) => own[key] === value);
  });
  return answerWith({ version: 0.6, elements });
}
