import * as z from 'zod';
import { type BuildContext, DataNeeded } from '../core/node.ts';
import { timeout } from '../core/options/amounts.ts';
import type { Fields } from '../core/record.ts';
import { referencedFields, textTemplate } from '../core/template/template.ts';
import type { ValuePath } from '../core/value/value.ts';
import { meanings } from '../nodes/call-policy.ts';
import { countryNamed, isBlank, noCountry } from './country-names.ts';
import { lookupOptions } from './lookup/lookup.ts';
import type { CategoryNames } from './lookup.ts';
import { refusedValue } from './refused-value.ts';

const coordinate = z.union([z.string(), z.number()], { error: 'expected a number, or text with {{field}}' });

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

export type PlacesOptions = z.output<typeof placesOptions>;

/** The checked options, with the defaults of the chosen lookup. */
export type SettledOptions = PlacesOptions & { readonly timeout: number };

interface CategoryOption {
  /** An id such as `amenity/pharmacy`. */
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  /** A note about the id that was found for the words; empty if the flow contains the id itself. */
  readonly notes: readonly string[];
}

/** If the words match no category, or several, reports the problem and returns undefined. */
export function categoryOption(words: string, at: ValuePath, context: BuildContext): CategoryOption | undefined {
  if (referencedFields(words).length > 0) {
    context.problem(at, 'expected one category for all records, found text with {{field}}');
    return undefined;
  }
  const named = categoryNames()(words);
  if ('id' in named) return { ...named, notes: named.id === words.trim() ? [] : [`category "${words}" is ${named.id}`] };
  const { reason, choices } = named;
  const list = choices.join(', ');
  if (reason === 'ambiguous') context.problem(at, `the category "${words}" can mean ${list}\nwrite the id of one of them`);
  else
    context.problem(
      at,
      `no category is called "${words}"${list === '' ? '' : `; similar ones are ${list}`}\nfind one: automate places categories WORDS`,
    );
  return undefined;
}

/** The names of place categories, once a flow has needed them. They are embedded data, so they are the same for every flow. */
let names: CategoryNames | undefined;

/** Returns the names of place categories. Throws DataNeeded if they are not loaded yet, because most flows name no category. */
function categoryNames(): CategoryNames {
  if (names) return names;
  throw new DataNeeded(async (folder) => {
    const { loadCategoryNames } = await import('./data/categories/category-names.ts');
    names = loadCategoryNames(folder);
  });
}

/** Renders an alpha-2 code from a code or a name in many languages. Undefined for blank text; throws a Failure for other text. */
export function countryTemplate(
  text: string | undefined,
  context: BuildContext,
  at: ValuePath = ['country'],
): (fields: Fields) => string | undefined {
  if (text === undefined) return () => undefined;
  if (referencedFields(text).length === 0 && countryNamed(text) === undefined) context.problem(at, noCountry(text));
  const render = textTemplate(text);
  return (fields) => {
    const written = render(fields);
    const code = countryNamed(written);
    if (code === undefined && !isBlank(written)) throw refusedValue(noCountry(written));
    return code;
  };
}

/** For a lookup that prefers a country, but also finds results elsewhere. `unknown` returns a text that is not a country. */
export function preferredCountry(text = '', context: BuildContext) {
  if (referencedFields(text).length === 0 && text.trim() !== '' && countryNamed(text) === undefined)
    context.problem(['country'], noCountry(text));
  const render = textTemplate(text);
  return {
    code: (fields: Fields) => countryNamed(render(fields)),
    unknown(fields: Fields) {
      const written = render(fields).trim();
      return written === '' || countryNamed(written) !== undefined ? undefined : written;
    },
  };
}
