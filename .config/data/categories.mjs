// Categories of places and the words for them, from the tagging schema of OpenStreetMap's editor.

const folder = '@openstreetmap/id-tagging-schema/dist';

/** The languages and their translation files. The first file of each language provides the names, the others add words. */
const languages = {
  ...{ en: ['en', 'en-GB'], de: ['de'], fr: ['fr'], es: ['es'], it: ['it'], pt: ['pt', 'pt-BR'], nl: ['nl'], pl: ['pl'], sv: ['sv'] },
  ...{ cs: ['cs'], ru: ['ru'], uk: ['uk'], ja: ['ja'], ko: ['ko'], zh: ['zh-CN', 'zh-TW'], tr: ['tr'], fi: ['fi'], el: ['el'] },
  ...{ da: ['da'], no: ['no', 'nb'], hu: ['hu'], hr: ['hr'], ca: ['ca'], ar: ['ar'], he: ['he'], vi: ['vi'] },
};

/** The kinds of presets that describe places. */
const kinds = new Set([
  ...['amenity', 'shop', 'tourism', 'leisure', 'healthcare', 'office', 'craft', 'education', 'club', 'historic', 'attraction'],
  ...['emergency', 'railway', 'public_transport', 'aeroway', 'aerialway', 'highway', 'natural', 'man_made', 'landuse'],
]);

/**
 * Presets that are another form of a category, such as its building. Their words are added to the terms of the category. The
 * words of `building/X` are added to the terms of `amenity/X`, too.
 */
const siblings = {
  'railway/station': ['public_transport/station_train', 'building/train_station'],
  'highway/bus_stop': ['public_transport/platform/bus_point'],
  'amenity/place_of_worship/christian': ['building/church'],
  'amenity/place_of_worship/muslim': ['building/mosque'],
  'amenity/place_of_worship/jewish': ['building/synagogue'],
  'tourism/hotel': ['building/hotel'],
};

/** Everyday words that the schema lacks, keyed by language. */
const everydayWords = {
  en: {
    'amenity/bank': ['building society', 'credit union'],
    'amenity/cafe': ['tea shop', 'tearoom'],
    'amenity/childcare': ['daycare', 'day care', 'daycare centre', 'daycare center', 'crèche'],
    'amenity/college': ['community college', 'sixth form college'],
    'amenity/courthouse': ['court', 'law court'],
    'amenity/doctors': ['GP', 'GP surgery', "doctor's surgery", 'family doctor', 'general practice', 'medical practice', 'physician'],
    'amenity/fast_food': ['takeaway', 'takeout', 'chippy', 'chip shop'],
    'amenity/fire_station': ['fire department', 'fire brigade'],
    'amenity/fuel': ['filling station', 'petrol station', 'gas station', 'service station'],
    'amenity/ice_cream': ['ice cream parlour', 'ice cream parlor'],
    'amenity/kindergarten': ['nursery school', 'preschool', 'pre-school'],
    'amenity/police': ['police station', 'police department', 'sheriff'],
    'amenity/pub': ['boozer', 'tavern'],
    'amenity/restaurant': ['eatery', 'diner'],
    'amenity/veterinary': ['vet', 'vet clinic', 'animal hospital'],
    'leisure/fitness_centre': ['health club', 'fitness studio'],
    'office/estate_agent': ['real estate agency', 'estate agency', 'realtor', 'letting agent', 'property agent'],
    'office/insurance': ['insurance agency', 'insurance broker'],
    'office/lawyer': ['law firm', 'lawyer', 'attorney', 'solicitor', 'barrister'],
    'railway/station': ['train station', 'railway station'],
    'shop/alcohol': ['off-licence', 'bottle shop'],
    'shop/beauty/nails': ['nail bar', 'nail studio'],
    'shop/car': ['car dealer', 'car dealership', 'auto dealer'],
    'shop/car_repair': ['garage', 'mechanic', 'auto repair', 'body shop'],
    'shop/convenience': ['corner shop', 'bodega', 'mini-mart'],
    'shop/dry_cleaning': ['dry cleaner'],
    'shop/funeral_directors': ['funeral home', 'funeral parlour', 'undertaker'],
    'shop/garden_centre': ['plant nursery', 'garden center'],
    'shop/laundry': ['launderette', 'laundromat'],
    'shop/newsagent': ['newsstand', 'paper shop'],
    'shop/optician': ['optometrist', 'eyewear shop'],
    'shop/supermarket': ['grocery', 'grocery store', 'hypermarket'],
    'tourism/camp_site': ['campground', 'camping site'],
    'tourism/guest_house': ['bed and breakfast', 'B&B'],
  },
  de: {
    'amenity/cafe': ['Konditorei-Café', 'Kaffeehaus'],
    'amenity/doctors': ['Hausarzt', 'Hausärztin', 'Arztpraxis', 'Allgemeinarzt'],
    'amenity/fast_food': ['Imbiss', 'Schnellimbiss', 'Imbissbude'],
    'amenity/fuel': ['Tankstelle'],
    'amenity/ice_cream': ['Eisdiele', 'Eiscafé'],
    'amenity/kindergarten': ['Kita', 'Kindertagesstätte', 'Kindergarten'],
    'amenity/childcare': ['Krippe', 'Kinderkrippe', 'Tagesmutter'],
    'amenity/police': ['Polizeiwache', 'Polizeirevier', 'Polizeistation'],
    'amenity/pub': ['Kneipe', 'Wirtshaus'],
    'amenity/restaurant': ['Gaststätte', 'Gasthaus', 'Gasthof'],
    'amenity/school': ['Grundschule', 'Gymnasium', 'Realschule', 'Hauptschule', 'Gesamtschule'],
    'leisure/fitness_centre': ['Fitnessstudio', 'Muckibude'],
    'leisure/sports_centre/swimming': ['Freibad', 'Hallenbad'],
    'office/estate_agent': ['Immobilienmakler', 'Maklerbüro'],
    'office/lawyer': ['Rechtsanwalt', 'Anwalt', 'Kanzlei', 'Anwaltskanzlei'],
    'shop/butcher': ['Fleischerei', 'Metzgerei', 'Schlachterei'],
    'shop/car': ['Autohändler', 'Autohaus'],
    'shop/car_repair': ['Kfz-Werkstatt', 'Autowerkstatt'],
    'shop/kiosk': ['Kiosk', 'Trinkhalle', 'Büdchen'],
    'shop/convenience': ['Späti', 'Tante-Emma-Laden'],
    'tourism/guest_house': ['Pension', 'Fremdenzimmer'],
  },
  fr: {
    'amenity/childcare': ['crèche', 'garderie', 'halte-garderie'],
    'amenity/doctors': ['médecin', 'médecin généraliste', 'cabinet médical'],
    'amenity/fuel': ['station-service', 'station essence', 'pompe à essence'],
    'amenity/kindergarten': ['école maternelle', 'maternelle'],
    'amenity/police': ['commissariat', 'gendarmerie', 'poste de police'],
    'amenity/townhall': ['mairie', 'hôtel de ville'],
    'leisure/fitness_centre': ['salle de sport', 'salle de gym'],
    'office/estate_agent': ['agence immobilière'],
    'office/lawyer': ['avocat', "cabinet d'avocats"],
    'shop/alcohol': ['caviste'],
    'shop/car': ['concessionnaire', 'concessionnaire automobile'],
    'shop/car_repair': ['garage', 'garagiste'],
    'shop/convenience': ['épicerie', 'supérette'],
    'tourism/guest_house': ["chambre d'hôtes", 'maison d’hôtes'],
  },
  es: {
    'amenity/childcare': ['guardería'],
    'amenity/doctors': ['médico', 'consultorio médico', 'centro de salud'],
    'amenity/fuel': ['gasolinera', 'estación de servicio'],
    'amenity/kindergarten': ['escuela infantil', 'jardín de infancia'],
    'amenity/police': ['comisaría', 'comisaría de policía'],
    'amenity/bus_station': ['estación de autobuses', 'terminal de autobuses'],
    'highway/bus_stop': ['parada de autobús'],
    'leisure/fitness_centre': ['gimnasio'],
    'office/estate_agent': ['inmobiliaria'],
    'office/lawyer': ['abogado', 'bufete de abogados', 'despacho de abogados'],
    'shop/car': ['concesionario', 'concesionario de coches'],
    'shop/car_repair': ['taller mecánico', 'taller de coches'],
    'shop/convenience': ['tienda de abarrotes', 'ultramarinos'],
    'shop/tobacco': ['estanco'],
    'tourism/guest_house': ['casa de huéspedes', 'pensión'],
  },
  it: {
    'amenity/childcare': ['asilo nido', 'nido'],
    'amenity/doctors': ['medico', 'medico di base', 'studio medico', 'ambulatorio'],
    'amenity/fuel': ['benzinaio', 'distributore', 'stazione di servizio'],
    'amenity/kindergarten': ["scuola dell'infanzia", 'scuola materna', 'asilo'],
    'amenity/police': ['questura', 'commissariato', 'carabinieri', 'stazione di polizia'],
    'amenity/bus_station': ['stazione degli autobus', 'autostazione'],
    'leisure/fitness_centre': ['palestra'],
    'office/estate_agent': ['agenzia immobiliare'],
    'office/lawyer': ['avvocato', 'studio legale'],
    'shop/bakery': ['panificio', 'panetteria', 'forno'],
    'shop/car': ['concessionaria', 'concessionario auto'],
    'shop/car_repair': ['officina', 'officina meccanica', 'meccanico'],
    'shop/tobacco': ['tabaccheria', 'tabacchi', 'tabaccaio'],
    'tourism/guest_house': ['affittacamere', 'pensione'],
  },
  nl: {
    'amenity/childcare': ['kinderdagverblijf', 'crèche', 'kinderopvang'],
    'amenity/doctors': ['huisarts', 'huisartsenpraktijk', 'dokter'],
    'amenity/fuel': ['tankstation', 'benzinestation', 'benzinepomp'],
    'amenity/townhall': ['gemeentehuis', 'stadhuis', 'raadhuis'],
    'leisure/fitness_centre': ['sportschool', 'fitness'],
    'office/estate_agent': ['makelaar', 'makelaardij'],
    'office/lawyer': ['advocaat', 'advocatenkantoor'],
    'shop/books': ['boekwinkel', 'boekhandel'],
    'shop/butcher': ['slager'],
    'shop/car_repair': ['garage', 'autogarage'],
    'shop/chemist': ['drogist', 'drogisterij'],
    'shop/supermarket': ['supermarkt', 'kruidenier'],
  },
  pl: {
    'amenity/school': ['szkoła'],
    'amenity/kindergarten': ['przedszkole'],
    'amenity/hospital': ['szpital'],
    'amenity/university': ['uniwersytet'],
  },
  sv: { 'leisure/sports_centre/swimming': ['simhall', 'badhus'] },
};

/** Builds the files `categories` and `categories-LANGUAGE`. Their format is described in src/places/data/categories/category-stems.ts. */
export function make(readJson) {
  const presets = readJson(`${folder}/presets.min.json`);
  const chosen = new Map();
  // A preset that the editor does not offer is used only if no other preset has its id.
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

/** Returns the number of chains and operators in the name-suggestion-index, for each tag. */
function itemCounts(readJson) {
  const counts = new Map();
  for (const [path, { items }] of Object.entries(readJson('name-suggestion-index/dist/json/nsi.min.json').nsi)) {
    const tag = path.slice(path.indexOf('/') + 1);
    counts.set(tag, (counts.get(tag) ?? 0) + items.length);
  }
  return counts;
}

/**
 * Returns the weight of a preset. The editor offers schools and stations under a new key, but places have the old key. Social
 * facilities are meant less often than other categories.
 */
function weightOf(preset, isOffered, name) {
  if (preset.startsWith('education/')) return 0.8;
  if (preset.startsWith('public_transport/')) return 0.7;
  if (preset.startsWith('amenity/social_facility/')) return 0.9;
  return isOffered || name?.startsWith('{education/') ? 1 : 0.9;
}

/** Returns the tag of a category if it has only one, otherwise the id of the preset. */
function idOf(preset, tags) {
  const [[key, value], ...more] = Object.entries(tags);
  return more.length === 0 ? `${key}/${value}` : preset;
}

/** Returns the name, and the other words: other names first, then terms. Returns 0 if the language has none. */
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

/** Returns all words of another preset. */
function termsOf({ name = '', aliases = '', terms = '' }) {
  return [name, ...aliases.split('\n'), ...terms.split(',')];
}

/** Returns the words that differ from the others in more than case. */
function listed(texts, others) {
  const seen = new Set(others.map((text) => text.toLowerCase()));
  return texts
    .map((text) => text.replace(/\s+/g, ' ').trim())
    .filter((text) => text !== '' && !seen.has(text.toLowerCase()) && seen.add(text.toLowerCase()));
}
