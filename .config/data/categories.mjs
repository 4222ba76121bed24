// Categories of places and the words for them, from the tagging schema of OpenStreetMap's editor.

const folder = '@openstreetmap/id-tagging-schema/dist';

/** The languages, each with the translations that it is made of: the first one names, the others add words. */
const languages = {
  ...{ en: ['en', 'en-GB'], de: ['de'], fr: ['fr'], es: ['es'], it: ['it'], pt: ['pt', 'pt-BR'], nl: ['nl'], pl: ['pl'], sv: ['sv'] },
  ...{ cs: ['cs'], ru: ['ru'], uk: ['uk'], ja: ['ja'], ko: ['ko'], zh: ['zh-CN', 'zh-TW'], tr: ['tr'], fi: ['fi'], el: ['el'] },
  ...{ da: ['da'], no: ['no', 'nb'], hu: ['hu'], hr: ['hr'], ca: ['ca'], ar: ['ar'], he: ['he'], vi: ['vi'] },
};

/** The kinds of presets that are places. */
const kinds = new Set([
  ...['amenity', 'shop', 'tourism', 'leisure', 'healthcare', 'office', 'craft', 'education', 'club', 'historic', 'attraction'],
  ...['emergency', 'railway', 'public_transport', 'aeroway', 'aerialway', 'highway', 'natural', 'man_made', 'landuse'],
]);

/** Presets that are another form of a category, such as the building: their words are terms for it. So are those of `building/X` for `amenity/X`. */
const siblings = {
  'railway/station': ['public_transport/station_train', 'building/train_station'],
  'highway/bus_stop': ['public_transport/platform/bus_point'],
  'amenity/place_of_worship/christian': ['building/church'],
  'amenity/place_of_worship/muslim': ['building/mosque'],
  'amenity/place_of_worship/jewish': ['building/synagogue'],
  'tourism/hotel': ['building/hotel'],
};

/** Everyday words that the schema lacks, by language. */
const everydayWords = {
  en: { 'amenity/veterinary': ['vet'] },
  de: { 'leisure/sports_centre/swimming': ['Freibad', 'Hallenbad'] },
  es: { 'highway/bus_stop': ['parada de autobús'] },
};

/** Makes `categories` and `categories-LANGUAGE`: see src/io/lookups/categories/category-data.ts. */
export function make(readJson) {
  const presets = readJson(`${folder}/presets.min.json`);
  const chosen = new Map();
  // A preset that the editor does not offer only adds an id that no other has.
  for (const isOffered of [true, false]) {
    for (const [preset, { tags, geometry = [], searchable = true, name, matchScore = 1 }] of Object.entries(presets)) {
      const isPlace = kinds.has(preset.split('/')[0]) && geometry.some((one) => one === 'point' || one === 'area');
      if (!isPlace || (searchable !== false) !== isOffered || Object.values(tags).includes('*')) continue;
      const id = idOf(preset, tags);
      const texts = name?.startsWith('{') ? name.slice(1, -1) : preset;
      if (!chosen.has(id)) chosen.set(id, { texts, tags, weight: weightOf(preset, isOffered, name) * matchScore });
    }
  }
  const ids = [...chosen.keys()].sort();
  const counts = itemCounts(readJson);
  const categories = ids.map((id) => [id, chosen.get(id).tags, Math.round(chosen.get(id).weight * 100) / 100, counts.get(id) ?? 0]);
  const parts = Object.entries(languages).map(([language, files]) => {
    const translations = files.map((file) => Object.values(readJson(`${folder}/translations/${file}.min.json`))[0].presets?.presets ?? {});
    const everyday = everydayWords[language] ?? {};
    return [`categories-${language}`, ids.map((id) => wordsOf(id, chosen.get(id).texts, translations, everyday[id] ?? []))];
  });
  return { categories: { languages: Object.keys(languages), categories }, ...Object.fromEntries(parts) };
}

/** How many chains and operators the name-suggestion-index has for a tag. */
function itemCounts(readJson) {
  const counts = new Map();
  for (const [path, { items }] of Object.entries(readJson('name-suggestion-index/dist/json/nsi.min.json').nsi)) {
    const tag = path.slice(path.indexOf('/') + 1);
    counts.set(tag, (counts.get(tag) ?? 0) + items.length);
  }
  return counts;
}

/** The editor offers schools and stations under a new key; places have the old one. */
function weightOf(preset, isOffered, name) {
  if (preset.startsWith('education/')) return 0.8;
  if (preset.startsWith('public_transport/')) return 0.7;
  return isOffered || name?.startsWith('{education/') ? 1 : 0.9;
}

/** The tag of a category that one tag decides, else the id of its preset. */
function idOf(preset, tags) {
  const [[key, value], ...more] = Object.entries(tags);
  return more.length === 0 ? `${key}/${value}` : preset;
}

/** The name, and the other words: other names, then terms. 0 if the language has none. */
function wordsOf(id, preset, translations, everyday) {
  const found = translations.map((names) => names[preset] ?? {});
  const others = [...(siblings[id] ?? []), id.replace(/^amenity\/(?=[^/]+$)/, 'building/')].filter(
    (other) => other !== id && other !== preset,
  );
  const theirs = translations.flatMap((names) =>
    others.map((other) => (other.startsWith('building/') ? { terms: names[other]?.terms } : (names[other] ?? {}))),
  );
  const name = [...found, ...theirs].map(({ name }) => name).find(Boolean) ?? everyday[0];
  if (!name) return 0;
  const aliases = listed([...everyday, ...found.flatMap(({ name: other, aliases = '' }) => [other ?? '', ...aliases.split('\n')])], [name]);
  const terms = [...found.flatMap(({ terms = '' }) => terms.split(',')), ...theirs.flatMap(termsOf)];
  return [name.replace(/\s+/g, ' '), aliases, listed(terms, [name, ...aliases])];
}

/** All words of another preset. */
function termsOf({ name = '', aliases = '', terms = '' }) {
  return [name, ...aliases.split('\n'), ...terms.split(',')];
}

/** The texts without those that differ from another only in capitals. */
function listed(texts, others) {
  const seen = new Set(others.map((text) => text.toLowerCase()));
  return texts
    .map((text) => text.replace(/\s+/g, ' ').trim())
    .filter((text) => text !== '' && !seen.has(text.toLowerCase()) && seen.add(text.toLowerCase()));
}
