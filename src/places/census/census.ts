import { pathTo } from '../../core/answer/path.ts';
import { type BuildContext, defineNode, type Node } from '../../core/node.ts';
import { isObject, membersOf, objectOf, type Value } from '../../core/value/value.ts';
import { usesWithin } from '../../nodes/http/request-template.ts';
import type { Lookup } from '../lookup/lookup.ts';
import { lookupNode } from '../lookup/lookup-node.ts';
import { serverRequests } from '../lookup/server-requests.ts';
import type { LookupDocument } from '../lookup.ts';
import { type CensusOptions, type CensusProvider, censusOptions } from './provider.ts';
import { usAcs5 } from './us-acs5.ts';
import { worldBank } from './world-bank.ts';

export const census = defineNode({
  name: 'census',
  summary: 'Census: adds figures from the US census for a county, tract or ZIP code, or from the World Bank for a country',
  example: `- type: census
  year: 2024
  geoid: "{{fips_tract}}"
  variables: { population: B01003_001E, median_income: B19013_001E }`,
  options: censusOptions,
  build: buildCensus,
});

const providers: Readonly<Record<CensusOptions['provider'], CensusProvider>> = { 'us-acs5': usAcs5, 'world-bank': worldBank };

function buildCensus(options: CensusOptions, context: BuildContext): Node | undefined {
  const provider = providers[options.provider];
  for (const name of provider.lacks) {
    if (options[name] !== undefined) context.problem([name], `${options.provider} has no ${name}; leave it out`);
  }
  const { key, server, source } = provider;
  const named = options.credential ?? (options.connection === undefined ? key?.credential : undefined);
  const auth = named === undefined ? undefined : key?.auth(named);
  const requests = serverRequests({ server, auth, hint: key?.hint, options }, context);
  const questions = provider.questions(options, context);
  if (!questions) return undefined;
  const lookup: Lookup = {
    label: 'census',
    sources: [source],
    defaultMap: objectOf(membersOf(options.variables).map(([field]) => [field, pathTo('values', field)] as const)),
    reads: (['year', 'geoid', 'zcta', 'country', 'variables'] as const).flatMap((name) => usesWithin(options[name] as Value, [name])),
    answerer: {
      maxAgeMs: options.cache,
      credentials: requests.credentials,
      calls: questions.count,
      requests: (fields) => questions.paths(fields).map(requests.get),
      check: (response) => provider.check(response, options),
      document: questions.document,
    },
    lacking,
    question: ({ geoid }) => String(geoid),
    noMatch: (_, record) => questions.noMatch(record),
  };
  return lookupNode(options, lookup, context);
}

function lacking({ match, values }: LookupDocument): string[] {
  return match && isObject(values) ? Object.keys(values).filter((field) => values[field] === null) : [];
}
