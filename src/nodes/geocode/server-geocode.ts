import { readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';
import type { LookupBatch } from '../lookup-batch.ts';
import type { Lookup } from '../lookup-node.ts';
import type { LookupOptions } from '../lookup-options.ts';
import { credentialNeeds, refuseUnsuccessful, type ServerRequests, serverRequests } from '../server-lookup.ts';
import type { GeocodeOptions } from './geocode-options.ts';
import type { Provider } from './provider.ts';
import type { Question, QuestionTemplate } from './question.ts';

/** The parts of a node that asks a server. */
interface ServerGeocode {
  readonly options: GeocodeOptions;
  readonly question: QuestionTemplate;
  readonly context: BuildContext;
}

const batchTimeoutMs = 600_000;

/** The rules of public servers: one request at a time, one in a second, answers are kept for 30 days, and a refusal is waited out for half a minute. */
const publicRules = { concurrency: 1, intervalMs: 1000, cacheMs: 30 * 86_400_000, waitMs: 30_000, maxWaitMs: 120_000 } as const;

/** The context of a node. No limits of the command line hold where those of a public server do. */
export function contextOf({ connection }: GeocodeOptions, provider: Provider | undefined, context: BuildContext): BuildContext {
  return provider?.isPublic && connection === undefined ? { ...context, overrides: {} } : context;
}

/** The options of a node, with the defaults of its provider. Embedded data need none. */
export function settingsOf(options: GeocodeOptions, provider: Provider | undefined, context: BuildContext): LookupOptions {
  const { concurrency, timeoutMs = 30_000 } = provider ?? {};
  const { batch, retry, connection, rate = 0, cache = 0 } = options;
  const isShared = connection !== undefined && context.connection(connection)?.concurrency !== undefined;
  return {
    ...options,
    timeout: options.timeout ?? (batch === undefined ? timeoutMs : batchTimeoutMs),
    concurrency: options.concurrency ?? (isShared ? undefined : concurrency),
    retry: { ...retry, max: retry.max ?? (batch === undefined ? 3 : 4) },
    ...(provider?.isPublic &&
      connection === undefined && {
        concurrency: publicRules.concurrency,
        rate: Math.max(rate, publicRules.intervalMs),
        cache: Math.max(cache, publicRules.cacheMs),
        retry: { ...retry, max: retry.max ?? 3, backoff: { ...retry.backoff, initial: publicRules.waitMs, max: publicRules.maxWaitMs } },
      }),
  };
}

/** The parts of a lookup that a server answers. */
export function serverGeocode(
  provider: Provider,
  { options, question, context }: ServerGeocode,
): Pick<Lookup, 'sources' | 'isEmbedded' | 'publicServer' | 'server' | 'prepare' | 'document' | 'batch' | 'notes'> {
  const settings = settingsOf(options, provider, context);
  const connection = options.connection === undefined ? undefined : (context.connection(options.connection) ?? null);
  const { server, headers, source } = provider;
  const perDay = connection === undefined ? provider.perDay : undefined;
  const requests = serverRequests({ server, auth: undefined, options: settings, connection, headers, perDay }, context);
  const pathOf = provider.paths(options, context);
  const batch = batchOf(provider, requests, { options, question, context });
  checkCountries(provider, options, context);
  const ask = (fields: Fields) => askable(provider, options, question.render(fields));
  return {
    sources: [source],
    isEmbedded: false,
    publicServer: perDay?.server,
    batch,
    server: {
      maxAgeMs: settings.cache,
      credentials: credentialNeeds(undefined, connection, requests.origin),
      check(response) {
        refuseUnsuccessful(response, settings);
        // An answer of another shape is a failure, which is not cached.
        if (!batch) provider.document(jsonBodyOf(response), sampleQuestion(options));
      },
    },
    prepare(fields) {
      const asked = ask(fields);
      if (!asked) return undefined;
      return batch ? batch.request(new Map([[1, fields]])) : requests.get(pathOf(asked, fields));
    },
    document(response, _, record) {
      if (!batch) return provider.document(jsonBodyOf(response as HttpResponse), question.render(record as Fields) as Question);
      const document = batch.documents(response as HttpResponse).get(1);
      if (!document) throw new Failure('answer', 'the answer lacks this record');
      return document;
    },
  };
}

function jsonBodyOf(response: HttpResponse): Value {
  return readBody(response, 'json', true) ?? null;
}

/** A question of the node's kind. */
function sampleQuestion({ point }: GeocodeOptions): Question {
  return point ? { lat: 0, lon: 0, maxDistance: 0 } : { address: '' };
}

function batchOf(provider: Provider, requests: ServerRequests, { options, question, context }: ServerGeocode): LookupBatch | undefined {
  const { batch: size, address, point, cache } = options;
  if (size === undefined || !provider.batch) return undefined;
  if (point) context.problem(['batch'], 'points are not asked for in batches; leave batch out');
  if (typeof address === 'string') {
    context.problem(['batch'], 'a batch needs the address in parts, such as address: { street: "{{street}}", postcode: "{{zip}}" }');
  }
  if (cache !== undefined) context.problem(['cache'], 'a batch is hardly ever the same again; leave cache or batch out');
  const { payload, ...batch } = provider.batch(options, question.render, context);
  return { ...batch, request: (records) => requests.post(payload(records)) };
}

/** Reports countries, written in the flow, none of which the provider knows. */
function checkCountries({ countries }: Provider, { provider, country = [] }: GeocodeOptions, { problem }: BuildContext): void {
  const written = [country].flat();
  if (
    !countries ||
    written.length === 0 ||
    written.some((text) => text.includes('{{') || countries.codes.includes(text.trim().toUpperCase()))
  )
    return;
  problem(['country'], `${provider} knows only addresses in ${countries.name}`);
}

/** The question, if the provider knows its countries. Throws a Failure if the flow wants a match. */
function askable(
  { countries }: Provider,
  { provider, no_match: noMatch }: GeocodeOptions,
  asked: Question | undefined,
): Question | undefined {
  const { country } = asked ?? {};
  if (!countries || !country || country.some((code) => countries.codes.includes(code))) return asked;
  if (noMatch === 'keep') return undefined;
  throw new Failure('answer', `${provider} knows only addresses in ${countries.name}, not in ${country.join(', ')}`, { sent: false });
}
