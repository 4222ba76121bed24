import type { Coordinates } from '../../../core/lookups/coordinates.ts';
import type { Columns } from './columns.ts';

/** A country in the data file: alpha-2, alpha-3, English name, capital, inhabitants of its places. */
type CountryRow = readonly [code: string, code3: string | null, name: string, seat: number, population: number];

/** A region in the data file: the codes of country and region, joined by a dot; its name, seat of government, the inhabitants of its places, and the largest place. */
type RegionRow = readonly [code: string, name: string | null, seat: number, population: number, largest: number];

/** A district in the data file: the codes of country, region and district, joined by dots; its name. */
type DistrictRow = readonly [code: string, name: string];

/** The part of the data file that is JSON. */
export interface PlacesMeta {
  /** Units of a degree. */
  readonly scale: number;
  readonly countries: readonly CountryRow[];
  readonly regions: readonly RegionRow[];
  readonly districts: readonly DistrictRow[];
}

/** A country. */
export interface Country {
  readonly number: number;
  readonly code: string;
  readonly code3: string | null;
  /** The English name. */
  readonly name: string;
  /** The number of its capital. */
  readonly seat: number;
  readonly population: number;
}

/** A part of a country: a state, a province, a canton. */
export interface Region {
  readonly number: number;
  /** The code of GeoNames within the country; empty if a place's region is not known. */
  readonly code: string;
  readonly name: string | null;
  readonly country: Country;
  readonly seat: number;
  readonly population: number;
  /** The number of its largest place. */
  readonly largest: number;
}

/** A part of a region: a county, a province, a department. Known only in countries where people write it into addresses. */
export interface District {
  readonly number: number;
  /** The code of GeoNames within the region. */
  readonly code: string;
  readonly name: string;
  readonly region: Region;
}

/** All places, by number. Places of one name follow each other, the largest first. */
export class Places {
  readonly count: number;
  readonly countries: readonly Country[];
  readonly regions: readonly Region[];
  readonly districts: readonly District[];
  readonly #scale: number;
  readonly #nameBytes: Buffer;
  readonly #nameStarts: Uint32Array;
  readonly #lats: Uint32Array;
  readonly #lons: Uint32Array;
  readonly #regionNumbers: Uint32Array;
  /** The number of the district and 1; 0 if it is not known. */
  readonly #districtNumbers: Uint32Array;
  readonly #populations: Uint32Array;
  /** By the numbers of districts. Made by the first question. */
  #middles: readonly Coordinates[] | undefined;
  /** Parts of towns, each with its town. */
  readonly #towns: ReadonlyMap<number, number>;

  constructor(columns: Columns<PlacesMeta>) {
    const { scale, countries, regions, districts } = columns.meta;
    this.#scale = scale;
    this.countries = countries.map(([code, code3, name, seat, population], number) => ({ number, code, code3, name, seat, population }));
    const byCode = new Map(this.countries.map((country) => [country.code, country]));
    this.regions = regions.map(([code, name, seat, population, largest], number) => {
      const country = byCode.get(code.slice(0, 2)) as Country;
      return { number, code: code.slice(3), name, country, seat, population, largest };
    });
    const regionOf = new Map(this.regions.map((region) => [`${region.country.code}.${region.code}`, region]));
    this.districts = districts.map(([code, name], number) => {
      const dot = code.lastIndexOf('.');
      return { number, code: code.slice(dot + 1), name, region: regionOf.get(code.slice(0, dot)) as Region };
    });
    this.#nameBytes = columns.bytes('nameBytes');
    this.#nameStarts = columns.starts('nameLengths');
    this.#lats = columns.numbers('lats');
    this.#lons = columns.numbers('lons');
    this.#regionNumbers = columns.numbers('regions');
    this.#districtNumbers = columns.numbers('districts');
    this.#populations = columns.numbers('populations');
    const towns = columns.numbers('towns');
    this.#towns = new Map(Array.from(columns.numbers('sections'), (section, index) => [section, towns[index] as number]));
    this.count = this.#lats.length;
  }

  /** The country with an alpha-2 code; undefined if no place is in it. */
  country(code: string): Country | undefined {
    return this.countries.find((country) => country.code === code);
  }

  name(place: number): string {
    return this.#nameBytes.toString('utf8', this.#nameStarts[place], this.#nameStarts[place + 1]);
  }

  lat(place: number): number {
    return ((this.#lats[place] as number) - 90 * this.#scale) / this.#scale;
  }

  lon(place: number): number {
    return ((this.#lons[place] as number) - 180 * this.#scale) / this.#scale;
  }

  region(place: number): Region {
    return this.regions[this.#regionNumbers[place] as number] as Region;
  }

  /** The district; undefined if it is not known. */
  district(place: number): District | undefined {
    return this.districts[(this.#districtNumbers[place] as number) - 1];
  }

  /** The middle of the places of a district. */
  middleOf(district: District): Coordinates {
    this.#middles ??= this.#middlesOfDistricts();
    return this.#middles[district.number] as Coordinates;
  }

  #middlesOfDistricts(): Coordinates[] {
    const sums = this.districts.map(() => ({ lat: 0, lon: 0, count: 0 }));
    for (let place = 0; place < this.count; place++) {
      const number = this.#districtNumbers[place] as number;
      if (number === 0) continue;
      const sum = sums[number - 1] as { lat: number; lon: number; count: number };
      sum.lat += this.lat(place);
      sum.lon += this.lon(place);
      sum.count++;
    }
    return sums.map(({ lat, lon, count }) => ({ lat: lat / count, lon: lon / count }));
  }

  /** Inhabitants; 0 if not known. */
  population(place: number): number {
    return this.#populations[place] as number;
  }

  /** The town that a place is a part of; the place itself if it is not a part of a town. */
  town(place: number): number {
    return this.#towns.get(place) ?? place;
  }
}
