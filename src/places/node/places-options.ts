import * as z from 'zod';
import { timeout } from '../../core/options/amounts.ts';
import { meanings } from '../../nodes/call-options.ts';
import { lookupOptions } from '../lookup/lookup-options.ts';

const coordinate = z.union([z.string(), z.number()], { error: 'expected a number, or text with {{field}}' });

/** The options of a places node, for all of its lookups. */
export const placesOptions = z.strictObject({
  lookup: z
    .enum(['chain', 'category', 'points'])
    .describe(
      'what to find: chain is the chain that a name means, and category is the kind of place that words mean, both on this machine; points are points of interest, from Overpass or a file',
    ),
  name: z.string().optional().describe('chain: the name, as people write it; {{field}} inserts a field'),
  country: z
    .string()
    .optional()
    .describe('chain: prefer chains in this country, by code or name, such as DE or Germany; ignored if it is not a country'),
  category: z
    .union([z.string(), z.array(z.string()).min(1)])
    .optional()
    .describe('a category, by id or words. With chain: prefer chains of this kind. With points: what to look for, one or a list'),
  chain: z.string().optional().describe('points: look for branches of this chain, by Wikidata id or name'),
  near: z
    .strictObject({
      lat: coordinate.describe('the latitude in decimal degrees, such as 52.52'),
      lon: coordinate.describe('the longitude in decimal degrees, such as 13.405'),
      radius: z.string().meta({ title: 'distance' }).describe('how far around the point to look, such as 250m, 5km or 2mi; at most 50km'),
    })
    .optional()
    .describe('points: look around a point'),
  area: z
    .strictObject({
      country: z.string().optional().describe('a country, by code or name, such as DE or Germany'),
      region: z.string().optional().describe('a region, by its ISO 3166-2 code, such as DE-BE'),
      osm: z.string().optional().describe('a relation or way in OpenStreetMap, such as relation/62422'),
      bbox: z
        .array(coordinate)
        .length(4, 'expected south, west, north and east')
        .optional()
        .describe('a box in decimal degrees: south, west, north, east'),
    })
    .optional()
    .describe('points, instead of near: look within an area, given by one of these options'),
  source: z
    .enum(['overpass', 'file'])
    .optional()
    .describe('points: overpass asks a server, file reads a file on this machine (default: overpass)'),
  file: z
    .string()
    .min(1)
    .optional()
    .describe('points, with source: file: the file, which is GeoJSON, newline-delimited GeoJSON or Overpass JSON, or one of them with .gz'),
  limit: z.int().min(1).max(10_000).optional().describe('points: maximum number of points, 1 to 10,000 (default: 100)'),
  words: z.string().optional().describe('category: words in any language, or the id of a category; {{field}} inserts a field'),
  language: z
    .string()
    .optional()
    .describe('category: the language to try first, and in which the answer gives the name, such as de (default: en)'),
  min_score: z
    .number()
    .min(0.5, 'expected a score from 0.5 to 1')
    .max(1, 'expected a score from 0.5 to 1')
    .optional()
    .describe('how alike the names must be to match, 0.5 to 1 (default: 0.85 for chain, 0.7 for category)'),
  ...lookupOptions,
  timeout: timeout.optional().describe(`${meanings.timeout} (default: 90s)`),
});

/** The checked options of a places node. */
export type PlacesOptions = z.output<typeof placesOptions>;

/** The checked options, with the defaults of the chosen lookup. */
export type SettledOptions = PlacesOptions & { readonly timeout: number };
