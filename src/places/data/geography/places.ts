import type { Coordinates } from '../../coordinates.ts';

/** `seat` is the number of the capital. `population` is the total of its places. */
type CountryRow = readonly [code: string, code3: string | null, name: string, seat: number, population: number];

/** `code` joins the country's and the region's code with a dot. `seat` and `largest` are numbers of places. */
type RegionRow = readonly [code: string, name: string | null, seat: number, population: number, largest: number];

/** `code` joins the codes of the country, the region and the district with dots. */
type DistrictRow = readonly [code: string, name: string];

/** The first line of the file with all places, which is JSON. */
export interface PlacesMeta {
  /** Number of units per degree. Coordinates in the file are whole numbers of these units. */
  readonly scale: number;
  readonly countries: readonly CountryRow[];
  readonly regions: readonly RegionRow[];
  readonly districts: readonly DistrictRow[];
}

export interface Country {
  readonly code: string;
  readonly name: string;
  readonly seat: number;
  readonly population: number;
}

/** A part of a country, such as a state, a province or a canton. */
export interface Region {
  readonly number: number;
  /** The GeoNames code of the region within its country. It is empty for the places of a country whose region is unknown. */
  readonly code: string;
  readonly name: string | null;
  readonly country: Country;
  readonly seat: number;
  readonly population: number;
  readonly largest: number;
}

/** Such as a county, province or department; only in countries that use them in addresses. */
export interface District {
  readonly number: number;
  /** The GeoNames code of the district within its region. */
  readonly code: string;
  readonly name: string;
  readonly region: Region;
}

/** A place is identified by its number. Namesakes are numbered consecutively, the largest first. */
export class PlaceTable {
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
  /** For each place, the index of its district plus 1, or 0 if the district is unknown. */
  readonly #districtNumbers: Uint32Array;
  readonly #populations: Uint32Array;
  /** The average coordinates of each district's places, indexed by the district's number. Undefined until first needed. */
  #middles: readonly Coordinates[] | undefined;
  /** The number of the town for each place that is part of a town. */
  readonly #towns: ReadonlyMap<number, number>;

  constructor(columns: Columns<PlacesMeta>) {
    const { scale, countries, regions, districts } = columns.meta;
    this.#scale = scale;
    this.countries = countries.map(([code, , name, seat, population]) => ({ code, name, seat, population }));
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

  district(place: number): District | undefined {
    return this.districts[(this.#districtNumbers[place] as number) - 1];
  }

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

  /** 0 if unknown. */
  population(place: number): number {
    return this.#populations[place] as number;
  }

  /** Returns the town that a place is part of; the place itself if it is not part of a town. */
  town(place: number): number {
    return this.#towns.get(place) ?? place;
  }
}

/** The first line of the file is JSON that lists the columns, and the bytes of the columns follow it. */
export class Columns<Meta> {
  readonly meta: Meta;
  readonly #parts = new Map<string, { readonly bytes: Buffer; readonly width: number; readonly length: number }>();

  constructor(file: Buffer) {
    let start = file.indexOf('\n') + 1;
    const head = JSON.parse(file.toString('utf8', 0, start)) as Meta & {
      readonly columns: readonly { readonly name: string; readonly width: number; readonly length: number }[];
    };
    this.meta = head;
    for (const { name, width, length } of head.columns) {
      const end = start + width * length;
      this.#parts.set(name, { bytes: file.subarray(start, end), width, length });
      start = end;
    }
  }

  bytes(name: string): Buffer {
    return this.#part(name).bytes;
  }

  /** In the file, the lowest bytes of all numbers come first, then all second-lowest bytes, and so on. */
  numbers(name: string): Uint32Array {
    const { bytes, width, length } = this.#part(name);
    const numbers = new Uint32Array(bytes.subarray(0, length));
    for (let plane = 1; plane < width; plane++) {
      const start = plane * length;
      const shift = 8 * plane;
      for (let index = 0; index < length; index++)
        numbers[index] = (numbers[index] as number) | ((bytes[start + index] as number) << shift);
    }
    return numbers;
  }

  /** Returns the running sums of a column. Each sum contains all numbers before its index, and the last sum contains all numbers. */
  starts(name: string): Uint32Array {
    const numbers = this.numbers(name);
    const starts = new Uint32Array(numbers.length + 1);
    for (let index = 0; index < numbers.length; index++) starts[index + 1] = (starts[index] as number) + (numbers[index] as number);
    return starts;
  }

  #part(name: string) {
    const part = this.#parts.get(name);
    if (!part) throw new Error(`no column "${name}"`);
    return part;
  }
}
