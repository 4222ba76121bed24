import type { BuildContext } from '../../core/node.ts';
import type { Value } from '../../core/value/value.ts';
import { usesWithin } from '../../nodes/http/request-template.ts';
import type { Lookup } from '../lookup/lookup.ts';
import { publicLimits } from '../lookup/server-requests.ts';
import { categoryOption, type PlacesOptions, type SettledOptions } from '../places-options.ts';
import { overpass } from './overpass.ts';
import { unknownChain } from './points-document.ts';
import { pointsFile, pointsServer } from './points-server.ts';
import type { AskedCategory, PointsProvider } from './provider.ts';
import { whereTemplate } from './where-option.ts';

type PointSource = NonNullable<PlacesOptions['source']>;

const servers: Readonly<Record<Exclude<PointSource, 'file'>, PointsProvider>> = { overpass };

const defaultSource: PointSource = 'overpass';
const defaultLimit = 100;
const defaultTimeoutMs = 90_000;

/** Adds the defaults, and the rules of a public server if one is used. */
export function pointsSettings(options: PlacesOptions): SettledOptions {
  const { source = defaultSource, timeout = defaultTimeoutMs, connection } = options;
  const { perDay, publicRetry } = source === 'file' ? {} : servers[source];
  if (connection !== undefined || !perDay) return { ...options, timeout };
  return { ...options, timeout, ...publicLimits(options), ...(publicRetry && { retry: publicRetry }) };
}

export function pointsLookup(options: SettledOptions, context: BuildContext): Lookup | undefined {
  const where = whereTemplate(options, context);
  const categories = categoriesOf(options, context);
  if (options.category === undefined && options.chain === undefined)
    context.problem(['lookup'], 'lookup: points needs category, chain or both');
  if (!where || !categories) return undefined;
  const { near, chain, source = defaultSource, limit = defaultLimit } = options;
  const parts = { where, chain, categories, limit };
  const answerer = source === 'file' ? pointsFile(options, parts, context) : pointsServer(servers[source], { options, parts, context });
  if (!answerer) return undefined;
  return {
    answerer,
    label: 'points',
    sources: [source === 'file' ? 'openstreetmap' : servers[source].source],
    unknownChain,
    defaultMap: near ? nearMap : { points_count: 'count' },
    reads: [...usesWithin(near as Value, ['near']), ...usesWithin(options.area as Value, ['area']), ...usesWithin(chain, ['chain'])],
    notes: categories.flatMap(({ notes }) => notes),
    cutOff: ({ truncated, nearest }) => (truncated ? { cutOffAt: limit, hidesNearest: near !== undefined && nearest === null } : undefined),
    question: () => '',
    noMatch: ({ count }) => (count === null ? 'no chain has that name' : 'no point was found'),
  };
}

const nearMap = {
  points_count: 'count',
  nearest_name: 'nearest.name',
  nearest_id: 'nearest.id',
  nearest_lat: 'nearest.lat',
  nearest_lon: 'nearest.lon',
  nearest_distance_m: 'nearest.distance_m',
};

type Category = AskedCategory & { readonly notes: readonly string[] };

function categoriesOf({ category = [] }: PlacesOptions, context: BuildContext): Category[] | undefined {
  const isList = Array.isArray(category);
  const found = [category].flat().map((words, index) => categoryOption(words, isList ? ['category', index] : ['category'], context));
  return found.every((one) => one !== undefined) ? found : undefined;
}
