import type { answerOverpass } from '../../examples/servers/overpass.mjs';

type Elements = NonNullable<Parameters<typeof answerOverpass>[1]>;

const brands = [
  ['Starbucks', 'Q37158'],
  ["McDonald's", 'Q38076'],
  ['REWE', 'Q16968817'],
] as const;

const kinds = [{ amenity: 'cafe' }, { amenity: 'fast_food' }, { shop: 'supermarket' }, { amenity: 'pharmacy' }];

/** 200 objects around the centre of Berlin. The kinds alternate, and a third of the objects are ways and relations. */
export const features: Elements = Array.from({ length: 200 }, (_, index) => {
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
