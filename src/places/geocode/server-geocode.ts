import { readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { countryNamed } from '../country-names.ts';
import type { LookupBatch, LookupOptions, LookupServer } from '../lookup/lookup.ts';
import { publicLimits, refuseUnsuccessful, type ServerRequests, serverRequests } from '../lookup/server-requests.ts';
import type { GeocodeOptions } from './geocode-options.ts';
import type { GeocodeProvider, GeocodeQuestion, QuestionTemplate } from './question.ts';

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
export function settingsOf(options: GeocodeOptions, provider: GeocodeProvider | undefined, context: BuildContext): LookupOptions {
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

export function geocodeServer(provider: GeocodeProvider, { options, settings, question, context }: ServerGeocode): LookupServer {
  const { server, headers, perDay } = provider;
  const requests = serverRequests({ server, options: settings, headers, perDay }, context);
  const pathOf = provider.paths(options, context);
  const batch = batchOf(provider, requests, { options, settings, question, context });
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
      if (!batch) documentOf(response, sampleQuestion(options));
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

function sampleQuestion({ point }: GeocodeOptions): GeocodeQuestion {
  return point ? { lat: 0, lon: 0, maxDistance: 0 } : { address: '' };
}

function batchOf(
  provider: GeocodeProvider,
  requests: ServerRequests,
  { options, question, context }: ServerGeocode,
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
  if (
    !countries ||
    written.length === 0 ||
    written.some((text) => text.includes('{{') || countries.codes.includes(countryNamed(text) ?? ''))
  )
    return;
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
