import { readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import { type BuildContext, defineNode, type Node } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { countryNamed } from '../country-names.ts';
import {
  checkLocalOptions,
  type LocalData,
  type Lookup,
  type LookupBatch,
  type LookupOptions,
  type LookupServer,
} from '../lookup/lookup.ts';
import { lookupNode } from '../lookup/lookup-node.ts';
import { publicLimits, refuseUnsuccessful, type ServerRequests, serverRequests } from '../lookup/server-requests.ts';
import { addressText } from '../lookup.ts';
import { censusUs } from './census-us.ts';
import { type GeocodeOptions, geocodeOptions } from './geocode-options.ts';
import { nominatim } from './nominatim.ts';
import { photon } from './photon.ts';
import { type GeocodeProvider, type GeocodeQuestion, type QuestionTemplate, questionTemplate } from './question.ts';

export const geocode = defineNode({
  name: 'geocode',
  summary: 'Geocode: finds the coordinates of an address, or the place nearest to a point, without any set-up',
  example: `- type: geocode
  address: "{{street}}, {{city}}, {{state}} {{zip}}"
  country: [US, CA]`,
  options: geocodeOptions,
  build: buildGeocode,
});

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

/** Options that only census-us has. */
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

interface ServerGeocode {
  readonly options: GeocodeOptions;
  readonly settings: LookupOptions;
  readonly question: QuestionTemplate;
  readonly context: BuildContext;
}

const batchTimeoutMs = 600_000;

/** The waits in ms before retries at a public server. */
const publicBackoff = { initial: 30_000, max: 120_000 } as const;

/** `provider` is undefined for embedded data. */
function settingsOf(options: GeocodeOptions, provider: GeocodeProvider | undefined, context: BuildContext): LookupOptions {
  const { concurrency, timeoutMs = 30_000, perDay } = provider ?? {};
  const { batch, connection } = options;
  const retry = { ...options.retry, max: options.retry.max ?? (batch === undefined ? 3 : 4) };
  const isShared = connection !== undefined && context.connection(connection)?.concurrency !== undefined;
  return {
    ...options,
    timeout: options.timeout ?? (batch === undefined ? timeoutMs : batchTimeoutMs),
    concurrency: options.concurrency ?? (isShared ? undefined : concurrency),
    retry,
    ...(perDay &&
      connection === undefined && { ...publicLimits(options), retry: { ...retry, backoff: { ...retry.backoff, ...publicBackoff } } }),
  };
}

function geocodeServer(provider: GeocodeProvider, { options, settings, question, context }: ServerGeocode): LookupServer {
  const { server, headers, perDay } = provider;
  const requests = serverRequests({ server, options: settings, headers, perDay }, context);
  const pathOf = provider.paths(options, context);
  const batch = batchOf(provider, requests, { options, question, context });
  checkCountries(provider, options, context);
  const documentOf = (response: HttpResponse, asked: GeocodeQuestion) => provider.document(readBody(response, 'json', true) ?? null, asked);
  return {
    publicServer: requests.publicServer,
    credentials: requests.credentials,
    maxAgeMs: settings.cache,
    calls: 1,
    requests(fields) {
      const asked = askable(provider, options, question.render(fields));
      if (!asked) return [];
      return [batch ? batch.request(new Map([[1, fields]])) : requests.get(pathOf(asked, fields))];
    },
    check(response) {
      refuseUnsuccessful(response, requests.publicServer);
      // A response in an unexpected form must fail here, before it can be cached.
      if (!batch) documentOf(response, options.point ? { lat: 0, lon: 0, maxDistance: 0 } : { address: '' });
    },
    document([first], record) {
      const response = first as HttpResponse;
      if (!batch) return documentOf(response, question.render(record) as GeocodeQuestion);
      const document = batch.documents(response).get(1);
      if (!document) throw new Failure('answer', 'the answer has nothing for this record');
      return document;
    },
    batch,
  };
}

function batchOf(
  provider: GeocodeProvider,
  requests: ServerRequests,
  { options, question, context }: Omit<ServerGeocode, 'settings'>,
): LookupBatch | undefined {
  const { batch: size, address, point, cache } = options;
  if (size === undefined || !provider.batch) return undefined;
  if (point) context.problem(['batch'], 'a batch works only with address, not with point; leave out batch');
  if (typeof address === 'string') {
    context.problem(['batch'], 'a batch needs the address in parts, such as address: { street: "{{street}}", postcode: "{{zip}}" }');
  }
  if (cache !== undefined)
    context.problem(['cache'], 'the same batch is rarely sent twice, so its answer is not cached; leave out cache or batch');
  const { payload, ...batch } = provider.batch(options, question.render, context);
  return { ...batch, request: (records) => requests.post(payload(records)) };
}

/** Reports the countries that are literal in the flow if the provider has no addresses in any of them. */
function checkCountries({ countries }: GeocodeProvider, { provider, country = [] }: GeocodeOptions, { problem }: BuildContext): void {
  const written = [country].flat();
  const isCovered = (text: string) => text.includes('{{') || countries?.codes.includes(countryNamed(text) ?? '');
  if (countries && written.length > 0 && !written.some(isCovered))
    problem(['country'], `${provider} only has addresses in ${countries.name}`);
}

/** Undefined outside the provider's countries; if the flow requires a match, throws a Failure instead. */
function askable(
  { countries }: GeocodeProvider,
  { provider, no_match: noMatch }: GeocodeOptions,
  asked: GeocodeQuestion | undefined,
): GeocodeQuestion | undefined {
  const { country } = asked ?? {};
  if (!countries || !country || country.some((code) => countries.codes.includes(code))) return asked;
  if (noMatch === 'keep') return undefined;
  throw new Failure('answer', `${provider} only has addresses in ${countries.name}, not in ${country.join(', ')}`, { sent: false });
}
