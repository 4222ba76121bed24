import type { ActionRequest } from '../../core/action.ts';
import { type BuildContext, defineNode, type Node } from '../../core/node.ts';
import { type Lookup, lookupNode } from '../lookup-node.ts';
import { checkServerOptions } from '../server-options.ts';
import { embedded } from './embedded.ts';
import { type GeocodeOptions, geocodeOptions } from './geocode-options.ts';
import type { Provider } from './provider.ts';
import { addressText, questionTemplate } from './question.ts';

/** The geocode node: finds the place that an address names, or the one nearest to a point. */
export const geocode = defineNode({
  name: 'geocode',
  summary: 'Geocode: finds the coordinates of an address, or the place nearest to a point, without any set-up',
  example: `- type: geocode
  address: "{{street}}, {{city}}, {{state}} {{zip}}"
  country: [US, CA]`,
  options: geocodeOptions,
  build: buildGeocode,
});

const providers: Readonly<Record<GeocodeOptions['provider'], Provider>> = { embedded };

/** The fields that a node without `map` adds. */
const defaultMap = {
  geocode_lat: 'lat',
  geocode_lon: 'lon',
  geocode_name: 'name',
  geocode_region: 'region',
  geocode_country: 'country_code',
  geocode_level: 'level',
};

function buildGeocode(options: GeocodeOptions, context: BuildContext): Node | undefined {
  const provider = providers[options.provider];
  const question = questionTemplate(options, context);
  if (provider.isEmbedded) checkServerOptions(options, `provider: ${options.provider}`, context);
  if (!question) return undefined;
  const { sources, isEmbedded, document } = provider;
  const lookup: Lookup = {
    label: 'geocode',
    ...{ sources, isEmbedded, document, defaultMap },
    reads: question.reads,
    prepare(fields) {
      const asked = question.render(fields);
      return asked && provider.request(asked);
    },
    question: ({ name }) => String(name),
    noMatch: (_, request) => noMatchText(request),
  };
  return lookupNode(options, lookup, context);
}

function noMatchText(request: ActionRequest | undefined): string {
  if (!request || !('kind' in request) || request.kind !== 'lookup') return 'no place found';
  if (request.lookup === 'address') return `no place fits ${JSON.stringify(addressText(request.query.address))}`;
  if (request.lookup !== 'point') return 'no place found';
  const { lat, lon, maxDistance } = request.query;
  return `no place within ${maxDistance / 1000} km of ${lat}, ${lon}`;
}
