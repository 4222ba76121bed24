import { metresBetween } from '../../src/core/lookups/distance.ts';

/** An object of OpenStreetMap as Overpass answers it. */
export interface OsmElement {
  readonly type: 'node' | 'way' | 'relation';
  readonly id: number;
  readonly lat?: number;
  readonly lon?: number;
  readonly center?: { readonly lat: number; readonly lon: number };
  readonly tags: Readonly<Record<string, string>>;
}

const brands = [
  ['Starbucks', 'Q37158'],
  ["McDonald's", 'Q38076'],
  ['REWE', 'Q16968817'],
] as const;

const kinds = [{ amenity: 'cafe' }, { amenity: 'fast_food' }, { shop: 'supermarket' }, { amenity: 'pharmacy' }];

/** 200 objects around the middle of Berlin: each kind in turn, a third of them ways and relations. */
export const features: readonly OsmElement[] = Array.from({ length: 200 }, (_, index) => {
  const id = index + 1;
  const place = { lat: 52.52 + ((index % 20) - 10) * 0.0011, lon: 13.405 + (Math.floor(index / 20) - 5) * 0.0017 };
  const brand = brands[index % 5];
  const tags = {
    ...kinds[index % 4],
    name: `Place ${id}`,
    'addr:street': 'Rosenstraße',
    'addr:housenumber': String(id),
    ...(brand && { brand: brand[0], 'brand:wikidata': brand[1], name: brand[0] }),
    ...(index % 7 === 0 && { cuisine: 'coffee_shop', 'contact:phone': '+49 30 1' }),
  } as Record<string, string>;
  if (index % 3 === 0) return { type: index % 2 ? 'way' : 'relation', id, center: place, tags };
  return { type: 'node', id, ...place, tags };
});

const text = '"((?:[^"\\\\]|\\\\["\\\\])*)"';
const number = '(-?\\d+(?:\\.\\d+)?)';
const tag = `\\[${text}(?:=${text})?\\]`;
const place = `\\((?:around:${number},${number},${number}|area\\.a|${number},${number},${number},${number})\\)`;
const filter = `nwr(?:${tag})+${place};`;
const query = new RegExp(
  `^\\[out:json\\]\\[timeout:60\\]\\[maxsize:268435456\\];(?:area(?:(?:${tag})+|\\((?:36|24)\\d{8}\\))->\\.a;)?(?:${filter}|\\((?:${filter}){2,}\\);)out tags center (\\d+);$`,
);

/** Answers a request as Overpass does. Anything that is none of the forms of the contract is a 400 with a page. */
export function overpassAnswer({ method, path, body = '' }: { method: string; path: string; body?: string | undefined }) {
  const written = /^data=([^&]*)$/.exec(body)?.[1];
  const asked = written === undefined ? undefined : decodeURIComponent(written);
  const isQuery = method === 'POST' && path === '/api/interpreter' && asked !== undefined && query.test(asked);
  if (!isQuery) {
    const page = `<html><head><title>OSM3S</title></head><body><p><strong>Error</strong>: line 1: parse error: Unknown query &lt;${path}&gt; </p></body></html>`;
    return { status: 400, headers: { 'content-type': 'text/html' }, body: page };
  }
  const limit = Number(/center (\d+);$/.exec(asked)?.[1]);
  const found = features.filter((feature) => filtersOf(asked).some((one) => one(feature)));
  return { body: JSON.stringify({ version: 0.6, elements: found.slice(0, limit) }) };
}

function filtersOf(asked: string): ((feature: OsmElement) => boolean)[] {
  return [...asked.matchAll(new RegExp(filter, 'g'))].map(([written]) => {
    const tags = [...written.matchAll(new RegExp(tag, 'g'))].map(
      ([, key = '', value]) => [unquoted(key), value && unquoted(value)] as const,
    );
    const [, radius, lat, lon] = new RegExp(`around:${number},${number},${number}`).exec(written) ?? [];
    return ({ tags: own, center, ...element }) => {
      const at = center ?? { lat: element.lat ?? 0, lon: element.lon ?? 0 };
      const isNear = radius === undefined || metresBetween({ lat: Number(lat), lon: Number(lon) }, at) <= Number(radius);
      return isNear && tags.every(([key, value]) => (value === undefined ? own[key] !== undefined : own[key] === value));
    };
  });
}

function unquoted(text: string): string {
  return text.replace(/\\(["\\])/g, '$1');
}
