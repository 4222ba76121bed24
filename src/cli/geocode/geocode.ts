import { AutomateError, Failure } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { readCoordinates } from '../../places/coordinates.ts';
import { countryNamed, noCountry } from '../../places/country-names.ts';
import type { LookupDocument } from '../../places/lookup.ts';
import { lookUpOne, type OneLookup } from '../../preview/look-up.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import type { ValuesOf } from '../options.ts';
import { geocodeText, noMatchText } from '../show/geocode.ts';
import { printJson } from '../show/print-json.ts';
import type { Terminal } from '../terminal.ts';
import type { geocodeOptions } from './geocode-options.ts';

type GivenGeocodeOptions = ValuesOf<typeof geocodeOptions>;

/**
 * Prints the place that matches a postal address, or the place nearest to a point. Returns the exit code, which is 4 if nothing was found.
 */
export async function geocodeCommand(address: string | undefined, options: GivenGeocodeOptions, terminal: Terminal): Promise<number> {
  const asked = lookupOf(address, options);
  const document = await lookUpOne(asked, terminal);
  if (document instanceof Failure) {
    terminal.say(`${terminal.colors.red('failed:')} ${document.kind}: ${document.message}`);
    return exitCodes.someFailed;
  }
  if (!document?.match) {
    terminal.say(address === undefined ? 'no place within 100 km' : noPlaceText(address, document));
    return exitCodes.someFailed;
  }
  if (options.json) await printJson(document, terminal);
  else await terminal.print(geocodeText(document));
  return exitCodes.success;
}

function noPlaceText(address: string, document: LookupDocument | null): string {
  const reason = document ? noMatchText(document) : 'it means that there is no value';
  return `no place fits ${JSON.stringify(address)}${reason === '' ? '' : `: ${reason}`}`;
}

/** Returns the lookup for a postal address or a point. Throws an AutomateError (`usage`) unless exactly one of them is specified. */
function lookupOf(address: string | undefined, options: GivenGeocodeOptions): OneLookup {
  const { point, country, provider, connection } = options;
  if ((address === undefined) === (point === undefined)) {
    const found = point === undefined ? '' : ', found both';
    throw new AutomateError('usage', `expected an address or --point LAT,LON${found}\nautomate geocode "Paris, TX"`);
  }
  const isPoint = point !== undefined;
  const node = {
    type: 'geocode',
    ...(isPoint ? { point: { lat: '{{lat}}', lon: '{{lon}}' } } : { address: '{{address}}' }),
    ...(country !== undefined && { country: country.split(',').map(countryCodeOf) }),
    ...(provider !== undefined && { provider }),
    ...(connection !== undefined && { connection }),
  };
  const fields = isPoint ? pointFields(point) : new Map([['address', checkedAddress(address ?? '')]]);
  return { command: 'automate geocode', node, fields, options };
}

function checkedAddress(address: string): string {
  if (/[\p{L}\p{N}]/u.test(address) && address.length <= 500) return address;
  throw new AutomateError('usage', `expected an address of 1 to 500 characters, found ${JSON.stringify(address.slice(0, 40))}`);
}

function countryCodeOf(text: string): string {
  const code = countryNamed(text);
  if (code === undefined) throw new AutomateError('usage', noCountry(text));
  return code;
}

/** Parses `LAT,LON` into the fields lat and lon. Throws an AutomateError (`usage`) if they are not coordinates. */
export function pointFields(text: string): Fields {
  const [lat = '', lon = '', ...more] = text.split(',');
  try {
    if (more.length === 0 && text.includes(',')) return new Map(Object.entries(readCoordinates(lat, lon)));
  } catch (error) {
    throw error instanceof Failure ? new AutomateError('usage', error.message) : error;
  }
  throw new AutomateError('usage', `expected two numbers with a comma between them, such as 52.52,13.405, found ${JSON.stringify(text)}`);
}
