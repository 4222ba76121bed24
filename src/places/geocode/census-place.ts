import { Failure } from '../../core/failure.ts';
import type { JsonObject, Value } from '../../core/value/value.ts';
import type { AddressParts } from '../geocode.ts';
import { type FoundPlace, pointIn } from './document.ts';
import { usStates } from './us-states.ts';

/** The versions of the census data that the geocoder uses. */
export type CensusData = { readonly benchmark: string; readonly vintage: string };

/**
 * Returns the parts of a postal address under the names that the geocoder uses. Throws a Failure if there is no street, because the
 * geocoder refuses such an address.
 */
export function addressQuery({ street = '', city = '', state = '', postcode = '' }: AddressParts): Record<string, string> {
  const parts = { street: street.trim(), city: city.trim(), state: state.trim(), zip: postcode.trim() };
  if (parts.street === '')
    throw new Failure('request', 'expected a street, because census-us finds only houses, found none', { sent: false });
  return Object.fromEntries(Object.entries(parts).filter(([, text]) => text !== ''));
}

/** The country of every place that this provider finds. */
export const unitedStates = { country: 'United States of America', countryCode: 'US' };

/**
 * Parses a postal address such as `4600 SILVER HILL RD, WASHINGTON, DC, 20233` into a place. Throws a Failure if the coordinates are
 * invalid.
 */
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

/**
 * Returns the codes of the state, county, tract and block that a census code contains. The code of a level is null if the census code is
 * too short for it.
 */
export function fipsWithin(code: string): JsonObject {
  const part = (digits: number) => (code.length >= digits ? code.slice(0, digits) : null);
  return { state: part(2), county: part(5), tract: part(11), block: part(15) };
}
