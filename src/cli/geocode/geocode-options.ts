import { textOption } from '../options.ts';
import { httpOptions, json } from '../shared-options.ts';

/** The options of `automate geocode`. */
export const geocodeOptions = {
  point: textOption('--point <lat,lon>', 'decimal degrees: find the nearest place instead, such as --point=-33.86,151.21'),
  country: textOption('--country <country>', 'only places there, by code or name, or several: US,Canada'),
  provider: textOption('--provider <name>', 'who answers (default: embedded, without any network)', {
    choices: async () => (await import('../../nodes/geocode/geocode-options.ts')).providerNames,
  }),
  connection: textOption('--connection <name>', "a saved connection to your own server, in place of the provider's", {
    listedBy: 'connections',
  }),
  ...httpOptions,
  json,
};
