import { type BuildContext, defineNode, type Node } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { checkLocalOptions, type LocalData, type Lookup } from '../lookup/lookup.ts';
import { lookupNode } from '../lookup/lookup-node.ts';
import { addressText } from '../lookup.ts';
import { censusUs } from './census-us.ts';
import { type GeocodeOptions, geocodeOptions } from './geocode-options.ts';
import { nominatim } from './nominatim.ts';
import { photon } from './photon.ts';
import { type GeocodeProvider, type QuestionTemplate, questionTemplate } from './question.ts';
import { geocodeServer, settingsOf } from './server-geocode.ts';

export const geocode = defineNode({
  name: 'geocode',
  summary: 'Geocode: finds the coordinates of an address, or the place nearest to a point, without any set-up',
  example: `- type: geocode
  address: "{{street}}, {{city}}, {{state}} {{zip}}"
  country: [US, CA]`,
  options: geocodeOptions,
  build: buildGeocode,
});

/** The providers that send requests to a server. */
const servers: Readonly<Record<Exclude<GeocodeOptions['provider'], 'embedded'>, GeocodeProvider>> = {
  'census-us': censusUs,
  nominatim,
  photon,
};

/** The map that is used if the node has none. */
const defaultMap = {
  geocode_lat: 'lat',
  geocode_lon: 'lon',
  geocode_name: 'name',
  geocode_region: 'region',
  geocode_country: 'country_code',
  geocode_level: 'level',
  geocode_doubt: 'doubt',
};

const fipsMap = { fips_county: 'fips.county', fips_tract: 'fips.tract', fips_block: 'fips.block' };

/** Options of census-us alone. */
const serverOptions = ['geographies', 'batch', 'benchmark', 'vintage'] as const;

function buildGeocode(options: GeocodeOptions, context: BuildContext): Node | undefined {
  const { provider: name, geographies } = options;
  const question = questionTemplate(options, context);
  const provider = name === 'embedded' ? undefined : servers[name];
  for (const option of provider?.lacks ?? serverOptions) {
    if (options[option] !== undefined && options[option] !== false) context.problem([option], `${name} has no ${option}; leave it out`);
  }
  const settings = settingsOf(options, provider, context);
  if (!provider) checkLocalOptions(settings, 'provider: embedded', context);
  if (!question) return undefined;
  const lookup: Lookup = {
    label: 'geocode',
    sources: [provider?.source ?? 'geonames'],
    defaultMap: geographies ? { ...defaultMap, ...fipsMap } : defaultMap,
    reads: question.reads,
    question: ({ name }, record) => String(name ?? askedText(question, record)),
    noMatch: (_, record) => noMatchText(question, record),
    answerer: provider ? geocodeServer(provider, { options, settings, question, context }) : embeddedPlaces(question),
  };
  return lookupNode(settings, lookup, context);
}

function embeddedPlaces({ render }: QuestionTemplate): LocalData {
  return {
    request(fields) {
      const query = render(fields);
      if (!query) return undefined;
      return 'address' in query ? { kind: 'lookup', lookup: 'address', query } : { kind: 'lookup', lookup: 'point', query };
    },
  };
}

function askedText({ render }: QuestionTemplate, record: Fields): string {
  const asked = render(record);
  if (!asked) return '';
  return 'address' in asked ? addressText(asked.address) : `${asked.lat}, ${asked.lon}`;
}

function noMatchText({ render }: QuestionTemplate, record: Fields): string {
  const asked = render(record);
  if (!asked) return 'no place found';
  if ('address' in asked) return `no place fits ${JSON.stringify(addressText(asked.address))}`;
  return `no place within ${asked.maxDistance / 1000} km of ${asked.lat}, ${asked.lon}`;
}
