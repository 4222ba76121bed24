import { textOption } from '../options.ts';
import { httpOptions, json } from '../shared-options.ts';

/** The options of `automate geocode`. */
export const geocodeOptions = {
  point: textOption('--point <lat,lon>', 'decimal degrees: find the nearest place instead, such as --point=-33.86,151.21'),
  country: textOption('--country <code>', 'only places there (ISO 3166-1 alpha-2), or several: US,CA'),
  provider: textOption('--provider <name>', 'who answers (default: embedded, without any network)', {
    choices: async () => (await import('../../nodes/geocode/geocode-options.ts')).providerNames,
  }),
  connection: textOption('--connection <name>', "a saved connection to your own server, in place of the provider's", {
    listedBy: 'connections',
  }),
  ...httpOptions,
  json,
};
