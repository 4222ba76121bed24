import * as z from 'zod';
import { distanceMetres } from '../../core/lookups/distance.ts';
import { describedAs } from '../../core/value/dictionary.ts';
import { lookupOptions } from '../lookup-options.ts';

const expectedAddress = 'expected a text with {{field}}, or a mapping with street, city, state, postcode and country';

const part = z.union([z.string(), z.number()], { error: 'expected a text with {{field}}' }).transform(String).optional();

const addressParts = z.strictObject({
  street: part.describe('street and house number: the embedded data know none'),
  city: part.describe('town'),
  state: part.describe('name or code of the region, such as Texas or TX'),
  postcode: part.describe('the embedded data know none'),
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
    .enum(['embedded'])
    .default('embedded')
    .describe('who answers. embedded: places of 500 inhabitants and more, regions and countries, on this machine'),
  country: z
    .union([z.string(), z.array(z.string()).min(1)], { error: 'expected a country code such as DE, or a list of them' })
    .optional()
    .describe('ISO 3166-1 alpha-2, such as DE, or a list: only places there are found'),
  max_distance: distance.prefault('100km').describe('only with point: a place farther away is no match'),
  ...lookupOptions,
});

/** The checked options of a geocode node. */
export type GeocodeOptions = z.output<typeof geocodeOptions>;
