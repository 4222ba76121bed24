import { Failure } from '../../core/failure.ts';
import type { AddressParts } from '../../core/lookups/geocode.ts';
import type { JsonObject, Value } from '../../core/value/value.ts';
import { type FoundPlace, pointIn } from './document.ts';
import { usStates } from './us-states.ts';

/** The versions of the census data to use. */
export type CensusData = { readonly benchmark: string; readonly vintage: string };

/** The parts of an address as the geocoder names them. Throws a Failure for an address without a street, which the geocoder refuses. */
export function addressQuery({ street = '', city = '', state = '', postcode = '' }: AddressParts): Record<string, string> {
  const parts = { street: street.trim(), city: city.trim(), state: state.trim(), zip: postcode.trim() };
  if (parts.street === '') throw new Failure('request', 'expected a street: census-us finds houses only, found none', { sent: false });
  return Object.fromEntries(Object.entries(parts).filter(([, text]) => text !== ''));
}

/** The country of every answer. */
export const unitedStates = { country: 'United States of America', countryCode: 'US' };

/** The place of an address such as `4600 SILVER HILL RD, WASHINGTON, DC, 20233`. Throws a Failure for wrong coordinates. */
export function matchedPlace(address: string, lat: Value, lon: Value): FoundPlace {
  const [line = '', city, state, postcode] = address.split(', ');
  const [, housenumber, street] = /^(\d\S*) (.+)$/.exec(line) ?? [];
  return {
    ...pointIn(lat, lon),
    ...{ level: 'house', name: address, housenumber, street: street ?? line, city, postcode },
    regionCode: state,
    region: usStates.get(state ?? ''),
    ...unitedStates,
  };
}

/** The codes of a unit and of the larger units around it. */
export function fipsWithin(code: string): JsonObject {
  const part = (digits: number) => (code.length >= digits ? code.slice(0, digits) : null);
  return { state: part(2), county: part(5), tract: part(11), block: part(15) };
}
