import { argument, command, textOption } from './options.ts';
import { httpOptions, json } from './shared-options.ts';

const geocodeOptions = {
  point: textOption('--point <lat,lon>', 'find the place nearest to this point, in decimal degrees, such as --point=-33.86,151.21'),
  country: textOption('--country <country>', 'find only places in this country, or in several, by code or name, such as US,Canada'),
  provider: textOption(
    '--provider <name>',
    'the source of places: embedded (on this machine), census-us (addresses in the USA), nominatim or photon (OpenStreetMap) (default: embedded)',
    {
      choices: async () => (await import('../places/geocode/geocode-options.ts')).providerNames,
    },
  ),
  connection: textOption('--connection <name>', "a saved connection to your own server, to use instead of the provider's", {
    listedBy: 'connections',
  }),
  ...httpOptions,
  json,
};

export const geocode = command({
  examples: [
    'automate geocode "Paris, TX"',
    'automate geocode --point 48.8584,2.2945',
    'automate geocode "4600 Silver Hill Rd, Washington, DC" --provider census-us',
    'automate geocode Springfield --country US --json',
  ],
  args: { address: argument('[address...]', 'an address, or the name of a town, region or country') },
  options: geocodeOptions,
  run: async ({ args, options, terminal }) => (await import('./geocode-command.ts')).geocodeCommand(args.address, options, terminal),
});
