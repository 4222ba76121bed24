/** @typedef {import('./answers.mjs').Request} Request */
/** @typedef {import('./answers.mjs').Answer} Answer */

/**
 * @typedef {object} Element an object of OpenStreetMap: a node has a place, others have a center
 * @property {'node' | 'way' | 'relation'} type
 * @property {number} id
 * @property {number} [lat]
 * @property {number} [lon]
 * @property {{ readonly lat: number, readonly lon: number }} [center]
 * @property {Readonly<Record<string, string>>} tags
 */

/** Invented shops of real chains around the middle of Berlin. */
const shops = [
  shop(1, ['Starbucks', 'Q37158', 'amenity', 'cafe'], [52.5211, 13.4106], 'Panoramastraße 1'),
  shop(2, ['Starbucks', 'Q37158', 'amenity', 'cafe'], [52.5164, 13.3811], 'Pariser Platz 4'),
  shop(3, ['REWE', 'Q16968817', 'shop', 'supermarket'], [52.5227, 13.4089], 'Rosenstraße 2'),
  shop(4, ['REWE', 'Q16968817', 'shop', 'supermarket'], [52.5259, 13.4016], 'Oranienburger Straße 9'),
  shop(5, ["McDonald's", 'Q38076', 'amenity', 'fast_food'], [52.5219, 13.4132], 'Alexanderplatz 7'),
];

/** @returns {Element} */
function shop(id, [brand, wikidata, key, value], [lat, lon], address) {
  const [, street = '', housenumber = ''] = /^(.*) (\d+)$/.exec(address) ?? [];
  const place = { 'addr:street': street, 'addr:housenumber': housenumber, 'addr:city': 'Berlin', 'addr:country': 'DE' };
  return { type: 'node', id, lat, lon, tags: { [key]: value, name: brand, brand, 'brand:wikidata': wikidata, ...place } };
}

const text = '"((?:[^"\\\\]|\\\\["\\\\])*)"';
const number = '(-?\\d+(?:\\.\\d+)?)';
const tag = `\\[${text}(?:=${text})?\\]`;
const place = `\\((?:around:${number},${number},${number}|area\\.a|${number},${number},${number},${number})\\)`;
const filter = `nwr(?:${tag})+${place};`;
const area = `(?:area(?:(?:${tag})+|\\((?:36|24)\\d{8}\\))->\\.a;)?`;
const query = new RegExp(
  `^\\[out:json\\]\\[timeout:60\\]\\[maxsize:268435456\\];${area}(?:${filter}|\\((?:${filter}){2,}\\);)out tags center (\\d+);$`,
);

/**
 * Answers as Overpass does, to queries of the forms that `automate` sends. Any other is a 400 with a page.
 * @param {Request} request
 * @param {readonly Element[]} [elements] the objects that there are
 * @returns {Answer}
 */
export function answerOverpass({ method, path, body = '' }, elements = shops) {
  const written = /^data=([^&]*)$/.exec(body)?.[1];
  const asked = written === undefined ? '' : decodeURIComponent(written);
  if (method !== 'POST' || path !== '/api/interpreter' || !query.test(asked)) {
    const page = `<html><head><title>OSM3S</title></head><body><p><strong>Error</strong>: line 1: parse error: Unknown query &lt;${path}&gt; </p></body></html>`;
    return { status: 400, headers: { 'content-type': 'text/html' }, body: page };
  }
  const limit = Number(/center (\d+);$/.exec(asked)?.[1]);
  const filters = [...asked.matchAll(new RegExp(filter, 'g'))].map(([one]) => toFilter(one));
  const found = elements.filter((element) => filters.some((isWanted) => isWanted(element)));
  return { body: { version: 0.6, elements: found.slice(0, limit) } };
}

/** The test of a filter: tags, and a distance from a point. */
function toFilter(written) {
  const tags = [...written.matchAll(new RegExp(tag, 'g'))].map(([, key, value]) => [unquoted(key), value && unquoted(value)]);
  const [, radius, lat, lon] = new RegExp(`around:${number},${number},${number}`).exec(written) ?? [];
  return ({ tags: own, center, ...element }) => {
    const isNear = radius === undefined || metresBetween({ lat: Number(lat), lon: Number(lon) }, center ?? element) <= Number(radius);
    return isNear && tags.every(([key, value]) => (value === undefined ? own[key] !== undefined : own[key] === value));
  };
}

function unquoted(quoted) {
  return quoted.replace(/\\(["\\])/g, '$1');
}

/** The distance of two points along the great circle (haversine). */
function metresBetween(from, to) {
  const radians = Math.PI / 180;
  const half = (degrees) => Math.sin((degrees * radians) / 2) ** 2;
  const square = half(to.lat - from.lat) + Math.cos(from.lat * radians) * Math.cos(to.lat * radians) * half(to.lon - from.lon);
  return 2 * 6_371_008.8 * Math.asin(Math.sqrt(square));
}
