import * as z from 'zod';
import { concurrency, defaultRetry, retry, timeout } from '../../core/options/amounts.ts';
import { describedAs } from '../../core/value/dictionary.ts';
import { meanings } from '../../nodes/call-policy.ts';
import { distanceMetres } from '../coordinates.ts';
import { lookupOptions } from '../lookup/lookup.ts';

const expectedAddress = 'expected text with {{field}}, or a mapping with street, city, state, postcode and country';

const part = z.union([z.string(), z.number()], { error: 'expected text with {{field}}' }).transform(String).optional();

const addressParts = z.strictObject({
  street: part.describe('house number and street; required for census-us, and not used by the embedded data, which has no streets'),
  city: part.describe('the town; if no town has this name, a region or country with this name is found'),
  state: part.describe('the region, by name or code, such as Texas or TX'),
  postcode: part.describe('the postcode; the embedded data checks only its form'),
  country: part.describe('the country, by name or code, such as Germany, Deutschland or DE'),
});

const degrees = z.union([z.string(), z.number()], { error: 'expected text with {{field}}, or decimal degrees' }).transform(String);

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
  z
    .string()
    .regex(/^\d+(\.\d+)? ?(m|km|mi)$/)
    .meta({ title: 'distance' }),
);

export const providerNames = ['embedded', 'census-us', 'nominatim', 'photon'] as const;

export const geocodeOptions = z.strictObject({
  address: z
    .union([z.string(), addressParts], { error: expectedAddress })
    .optional()
    .describe('the address to find: one string, or a mapping with street, city, state, postcode and country; {{field}} inserts a field'),
  point: z
    .strictObject({
      lat: degrees.describe('the latitude, from -90 to 90'),
      lon: degrees.describe('the longitude, from -180 to 180'),
    })
    .optional()
    .describe('instead of address: find the place nearest to this point, in decimal degrees such as 52.52 (WGS 84)'),
  provider: z
    .enum(providerNames)
    .default('embedded')
    .describe(
      'the source of the places: embedded has places of 500 inhabitants or more, regions and countries, on this machine; census-us has houses in the USA; nominatim and photon have OpenStreetMap',
    ),
  country: z
    .union([z.string(), z.array(z.string()).min(1)], { error: 'expected a country code such as DE, or a list of them' })
    .optional()
    .describe('find only places in this country, or in a list of countries, by code or name, such as DE or Germany'),
  max_distance: distance.optional().describe('with point: a place that is farther away does not match (default: 100km)'),
  geographies: z.boolean().default(false).describe('census-us: add the FIPS codes of state, county, tract and block'),
  batch: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'census-us, if address is a mapping: send this many addresses, 1 to 10,000, in one request, for one credit (default: no batches)',
    ),
  benchmark: z.string().optional().describe('census-us: the version of the addresses (default: Public_AR_Current)'),
  vintage: z.string().optional().describe('census-us: the version of the geographies (default: Current_Current)'),
  ...lookupOptions,
  timeout: timeout.optional().describe(`${meanings.timeout} (default: 30s, 60s for census-us, 10m for a batch)`),
  concurrency: concurrency.optional().describe(`${meanings.concurrency} (default: the connection's, or 16, or 4 for census-us)`),
  retry: retry
    .extend({ max: retry.shape.max.unwrap().optional().describe(`${meanings.retryMax} (default: 3, or 4 for a batch)`) })
    .prefault({ ...defaultRetry, max: undefined })
    .describe(meanings.retry),
});

export type GeocodeOptions = z.output<typeof geocodeOptions>;
