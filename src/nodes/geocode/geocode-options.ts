import * as z from 'zod';
import { distanceMetres } from '../../core/lookups/distance.ts';
import { concurrency, timeout } from '../../core/options/amounts.ts';
import { defaultRetry, retry } from '../../core/options/retry.ts';
import { describedAs } from '../../core/value/dictionary.ts';
import { lookupOptions } from '../lookup/lookup-options.ts';

const expectedAddress = 'expected a text with {{field}}, or a mapping with street, city, state, postcode and country';

const part = z.union([z.string(), z.number()], { error: 'expected a text with {{field}}' }).transform(String).optional();

const addressParts = z.strictObject({
  street: part.describe('house number and street: the embedded data know none; census-us needs them'),
  city: part.describe('town; a region or country of this name comes second'),
  state: part.describe('name or code of the region, such as Texas or TX'),
  postcode: part.describe('the embedded data know only its form'),
  country: part.describe('name or code of the country, such as Germany, Deutschland or DE'),
});

const degrees = z.union([z.string(), z.number()], { error: 'expected a text with {{field}}, or decimal degrees' }).transform(String);

/** A distance in whole metres. */
const distance = describedAs(
  z.string({ error: 'expected a distance such as 250m, 5km or 2mi' }).transform((written, context) => {
    try {
      return distanceMetres(written);
    } catch (error) {
      context.addIssue((error as Error).message);
      return z.NEVER;
    }
  }),
  z.string().regex(/^\d+(\.\d+)? ?(m|km|mi)$/),
);

/** The providers by name. */
export const providerNames = ['embedded', 'census-us', 'nominatim', 'photon'] as const;

/** The options of a geocode node. */
export const geocodeOptions = z.strictObject({
  address: z
    .union([z.string(), addressParts], { error: expectedAddress })
    .optional()
    .describe('the address to find: one text, or its parts street, city, state, postcode and country; {{field}} inserts a field'),
  point: z
    .strictObject({
      lat: degrees.describe('latitude, -90 to 90'),
      lon: degrees.describe('longitude, -180 to 180'),
    })
    .optional()
    .describe('instead of address: decimal degrees (WGS 84); finds the place nearest to them'),
  provider: z
    .enum(providerNames)
    .default('embedded')
    .describe(
      'who answers. embedded: places of 500 inhabitants and more, regions and countries, on this machine; census-us: houses in the USA; nominatim, photon: OpenStreetMap',
    ),
  country: z
    .union([z.string(), z.array(z.string()).min(1)], { error: 'expected a country code such as DE, or a list of them' })
    .optional()
    .describe('a country by its code or name, such as DE or Germany, or a list: only places there are found'),
  max_distance: distance.optional().describe('only with point: a place farther away is no match; default 100km'),
  geographies: z.boolean().default(false).describe('census-us: FIPS codes of the state, county, tract and block, too'),
  batch: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('census-us, with an address in parts: addresses in one request, 1 to 10,000; a request costs one credit'),
  benchmark: z.string().optional().describe('census-us: version of the addresses; default Public_AR_Current'),
  vintage: z.string().optional().describe('census-us: version of the geographies; default Current_Current'),
  ...lookupOptions,
  timeout: timeout.optional().describe('one limit for the whole request; default 30s, of census-us 60s, of a batch 10m'),
  concurrency: concurrency
    .optional()
    .describe('requests in flight at once; 16, of census-us 4, unless the connection says otherwise; auto: the run finds the number'),
  retry: retry
    .extend({ max: retry.shape.max.unwrap().optional().describe('retries after the first attempt; default 3, of a batch 4') })
    .prefault({ ...defaultRetry, max: undefined })
    .describe('when and how often a request is sent again'),
});

/** The checked options of a geocode node. */
export type GeocodeOptions = z.output<typeof geocodeOptions>;
