/** A postal address in parts, such as street and city. A part that is undefined or empty is unknown. */
export interface AddressParts {
  readonly street?: string | undefined;
  readonly city?: string | undefined;
  readonly state?: string | undefined;
  readonly postcode?: string | undefined;
  readonly country?: string | undefined;
}

/** A query for the place at a postal address. */
export interface AddressQuery {
  readonly address: string | AddressParts;
  /**
   * Countries to search in, as ISO 3166-1 alpha-2 codes in upper case. Places in other countries are ignored. It is undefined to search the
   * whole world.
   */
  readonly country?: readonly string[] | undefined;
}

/** Returns a postal address as one line. */
export function addressText(address: AddressQuery['address']): string {
  if (typeof address === 'string') return address;
  const { street, city, state, postcode, country } = address;
  return [street, city, state, postcode, country].filter(Boolean).join(', ');
}

/** A query for the place nearest to a point on the earth. */
export interface PointQuery {
  /** Latitude and longitude in decimal degrees, WGS 84. */
  readonly lat: number;
  readonly lon: number;
  /** Countries to search in, as ISO 3166-1 alpha-2 codes in upper case; undefined to search the whole world. */
  readonly country?: readonly string[] | undefined;
  /** Maximum distance of the place from the point in metres. */
  readonly maxDistance: number;
}

/** The answer document if no place was found, without the attribution of data sources. */
export const noPlace = {
  ...{ match: false, lat: null, lon: null, level: null, name: null, street: null, housenumber: null, postcode: null, city: null },
  ...{ county: null, region: null, region_code: null, country: null, country_code: null, population: null, distance_m: null },
  ...{ score: null, ambiguous: false, doubt: null, matched: [], left_over: null, fips: null, candidates: [] },
};

/** A part of a postal address whose meaning was recognized. */
export interface UnderstoodPart {
  /** The part as it was written in the address. */
  readonly text: string;
  /** The kind of the part. It is `ignored` for parts that do not help to find the place, such as a P.O. box or an email address. */
  readonly as: 'place' | 'region' | 'county' | 'country' | 'postcode' | 'street' | 'ignored';
}

/** Maximum number of candidates that an answer lists. */
export const maxCandidates = 5;
