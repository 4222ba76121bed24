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
  /** ISO 3166-1 alpha-2, upper case: places elsewhere do not count. Absent for the whole world. */
  readonly country?: readonly string[] | undefined;
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
