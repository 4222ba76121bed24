import * as z from 'zod';
import { timeout } from '../../core/options/amounts.ts';
import { lookupOptions } from '../lookup/lookup-options.ts';

const coordinate = z.union([z.string(), z.number()], { error: 'expected a number or a text with {{field}}' });

/** The options of a places node, for all its lookups. */
export const placesOptions = z.strictObject({
  lookup: z
    .enum(['chain', 'category', 'points'])
    .describe(
      'chain: the chain that a name means; category: the category that words mean, both answered by embedded data; points: points of interest, answered by Overpass or a file',
    ),
  name: z.string().optional().describe('chain: a name as people write it; {{field}} inserts a field'),
  country: z
    .string()
    .optional()
    .describe(
      'chain: a country by its code or name, such as DE or Germany; prefers chains that are there, and is ignored if it cannot be read',
    ),
  category: z
    .union([z.string(), z.array(z.string()).min(1)])
    .optional()
    .describe('the id of a category, or words for it; chain: prefers chains of that kind; points: what to look for, one or a list'),
  chain: z.string().optional().describe('points: the Wikidata id of a chain, or its name'),
  near: z
    .strictObject({
      lat: coordinate.describe('latitude in decimal degrees'),
      lon: coordinate.describe('longitude in decimal degrees'),
      radius: z.string().describe('such as 250m, 5km or 2mi, at most 50km'),
    })
    .optional()
    .describe('points: around a point'),
  area: z
    .strictObject({
      country: z.string().optional().describe('a country by its code or name, such as DE or Germany'),
      region: z.string().optional().describe('ISO 3166-2, such as DE-BE'),
      osm: z.string().optional().describe('an object of OpenStreetMap, such as relation/62422'),
      bbox: z.array(coordinate).length(4, 'expected south, west, north and east').optional().describe('south, west, north, east'),
    })
    .optional()
    .describe('points: within an area'),
  source: z.enum(['overpass', 'file']).optional().describe('points: overpass (default) asks a server; file reads a file of this machine'),
  file: z.string().min(1).optional().describe('points: GeoJSON, newline-delimited GeoJSON or Overpass JSON, also .gz, with source: file'),
  limit: z.int().min(1).max(10_000).optional().describe('points: maximum number of points, 1 to 10,000; default 100'),
  words: z.string().optional().describe('category: words in any language, or the id of a category'),
  language: z.string().optional().describe('category: language of the words, tried first, and of the name in the answer, such as de'),
  min_score: z
    .number()
    .min(0.5, 'expected a score from 0.5 to 1')
    .max(1, 'expected a score from 0.5 to 1')
    .optional()
    .describe('below it there is no match; default 0.85 for chain, 0.7 for category'),
  ...lookupOptions,
  timeout: timeout.optional().describe('one limit for the whole request; default 90s'),
});

/** The checked options of a places node. */
export type PlacesOptions = z.output<typeof placesOptions>;

/** The checked options, with the defaults of their lookup. */
export type SettledOptions = PlacesOptions & { readonly timeout: number };
