/** An address in parts. Absent or empty parts are not known. */
export interface AddressParts {
  readonly street?: string | undefined;
  readonly city?: string | undefined;
  readonly state?: string | undefined;
  readonly postcode?: string | undefined;
  readonly country?: string | undefined;
}

/** A question for the place that an address names. */
export interface AddressQuery {
  readonly address: string | AddressParts;
  /** ISO 3166-1 alpha-2, upper case: places elsewhere do not count. Undefined for the whole world. */
  readonly country?: readonly string[] | undefined;
}

/** An address on one line. */
export function addressText(address: AddressQuery['address']): string {
  if (typeof address === 'string') return address;
  const { street, city, state, postcode, country } = address;
  return [street, city, state, postcode, country].filter(Boolean).join(', ');
}

/** A question for the place nearest to a point. */
export interface PointQuery {
  /** Decimal degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** As in `AddressQuery`. */
  readonly country?: readonly string[] | undefined;
  /** Metres to the farthest place that counts. */
  readonly maxDistance: number;
}

/** The answer document if nothing was found, without its attribution. */
export const noPlace = {
  ...{ match: false, lat: null, lon: null, level: null, name: null, street: null, housenumber: null, postcode: null, city: null },
  ...{ county: null, region: null, region_code: null, country: null, country_code: null, population: null, distance_m: null },
  ...{ score: null, ambiguous: false, doubt: null, matched: [], left_over: null, fips: null, candidates: [] },
};

/** A part of an address that was understood. */
export interface UnderstoodPart {
  /** As it was written. */
  readonly text: string;
  /** `ignored`: a P.O. box, a mail address and the like, which say nothing about the place. */
  readonly as: 'place' | 'region' | 'county' | 'country' | 'postcode' | 'street' | 'ignored';
}

/** Maximum of candidates in an answer. */
export const maxCandidates = 5;
