import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { countryNamed } from '../../../src/places/country-names.ts';
import { createLookups } from '../../../src/places/data/lookups.ts';
import type { AddressQuery, LookupDocument } from '../../../src/places/lookup.ts';
import { dataFolder } from '../../helpers/data-folder.ts';

const lookups = createLookups(dataFolder);

async function find(address: AddressQuery['address'], country?: readonly string[]): Promise<LookupDocument> {
  return (await lookups.find({ kind: 'lookup', lookup: 'address', query: { address, country } })).body as LookupDocument;
}

async function near(lat: number, lon: number, maxDistance = 100_000, country?: readonly string[]): Promise<LookupDocument> {
  return (await lookups.find({ kind: 'lookup', lookup: 'point', query: { lat, lon, maxDistance, country } })).body as LookupDocument;
}

/** Returns the place that was found, such as `Paris US-TX`. */
function placeOf({ name, country_code: country, region_code: region }: LookupDocument): string {
  return `${name} ${country}-${region}`;
}

describe('an address looked up in the embedded data', () => {
  test.each([
    ['Paris, TX', 'Paris US-TX'],
    ['Paris, Texas, USA', 'Paris US-TX'],
    ['Paris', 'Paris FR-11'],
    ['London, Ontario', 'London CA-08'],
    ['Cambridge, MA', 'Cambridge US-MA'],
    ['Cambridge, England', 'Cambridge GB-ENG'],
    ['St. Louis, MO', 'St. Louis US-MO'],
    ['Saint Louis, Missouri', 'St. Louis US-MO'],
    ['New York, NY', 'New York City US-NY'],
    ['10115 Berlin, Germany', 'Berlin DE-16'],
    ['Sao Paulo', 'São Paulo BR-27'],
    ['São Paulo, Brazil', 'São Paulo BR-27'],
    ['350 5th Ave, New York, NY 10118', 'New York City US-NY'],
    ['Boston MA', 'Boston US-MA'],
    ['Salem, IN', 'Salem IN-25'],
    ['Ontario, CA', 'Ontario US-CA'],
  ])('is found: %s is in %s', async (address, place) => {
    expect(placeOf(await find(address))).toBe(place);
  });

  test.each([
    ['München', 'Munich DE-02'],
    ['MUENCHEN', 'Munich DE-02'],
    ['Wien', 'Vienna AT-09'],
    ['Firenze', 'Florence IT-16'],
    ['Praha', 'Prague CZ-52'],
    ['Москва', 'Moscow RU-48'],
    ['東京', 'Tokyo JP-40'],
  ])('can contain a local name: %s is %s', async (address, place) => {
    expect(placeOf(await find(address))).toBe(place);
  });

  test.each([
    ...['Germany', 'Deutschland', 'Allemagne', 'Alemania', 'DE', 'DEU'].map((name) => [name, 'DE'] as const),
    ...['United States', 'Vereinigte Staaten', 'États-Unis', 'Estados Unidos', 'USA', 'U.S.A.'].map((name) => [name, 'US'] as const),
    ...['United Kingdom', 'Vereinigtes Königreich', 'Royaume-Uni', 'Reino Unido', 'UK', 'Great Britain'].map(
      (name) => [name, 'GB'] as const,
    ),
  ])('can contain the name of a country, alone or after a town: %s is %s', async (name, code) => {
    expect(await find(name)).toMatchObject({ match: true, level: 'country', country_code: code, region: null, city: null });
    const town = { DE: 'Hamburg', US: 'Chicago', GB: 'Leeds' }[code];
    expect(await find(`${town}, ${name}`)).toMatchObject({ level: 'place', name: town, country_code: code });
  });

  test.each([
    ['Korea, Republic of', 'KR'],
    ["Korea (the Democratic People's Republic of)", 'KP'],
    ['Congo, The Democratic Republic of the', 'CD'],
    ['Congo, Republic of the', 'CG'],
    ['Iran (Islamic Republic of)', 'IR'],
    ['Moldova, Republic of', 'MD'],
    ['Bolivia (Plurinational State of)', 'BO'],
    ['Bonaire, Sint Eustatius and Saba', 'BQ'],
    ['Republic of Malta', 'MT'],
    ['Egypt, Arab Rep.', 'EG'],
    ['Hong Kong SAR, China', 'HK'],
    ['Netherlands (Kingdom of the)', 'NL'],
    ['United Kingdom of Great Britain and Northern Ireland (the)', 'GB'],
    ['Virgin Islands (U.S.)', 'VI'],
    ['Sao Tome and Principe', 'ST'],
    ['Georgia', 'GE'],
  ])('can be the name of a country in lists of the UN, ISO and the World Bank: %s is %s', async (name, code) => {
    expect(await find(name)).toMatchObject({ match: true, country_code: code });
    expect(countryNamed(name)).toBe(code);
  });

  test('can end with the formal name of a country', async () => {
    expect(placeOf(await find('Seoul, Korea, Republic of'))).toBe('Seoul KR-11');
    expect(placeOf(await find({ city: 'Tehran', country: 'Iran (Islamic Republic of)' }))).toBe('Tehran IR-26');
    expect(placeOf(await find('Macon, State of Georgia'))).toBe('Macon US-GA');
    expect(await find('Republic of Xyzzy')).toMatchObject({ match: false });
  });

  test.each(['Bay Area', 'Home', 'the Earth', 'Europe', 'Südamerika', 'Metropolitan Area', 'West Coast', 'Everywhere'])(
    'has no match if its only word means no town: %s',
    async (name) => {
      expect(await find(name)).toMatchObject({ match: false });
      expect(await find({ city: name })).toMatchObject({ match: false });
    },
  );

  test('matches a town with the name of such a word if there is more', async () => {
    expect(placeOf(await find('Home, WA'))).toBe('Home US-WA');
    expect(placeOf(await find('Mobile'))).toBe('Mobile US-AL');
  });

  test('is searched for only in the countries of the query', async () => {
    expect(placeOf(await find('Montgomery', ['US']))).toBe('Montgomery US-AL');
    expect(placeOf(await find('Paris', ['US', 'CA']))).toBe('Paris US-TX');
    expect(await find('Paris, France', ['US'])).toMatchObject({ match: false, lat: null, candidates: [] });
    expect(await find('Germany', ['US'])).toMatchObject({ match: false });
  });

  test('is taken as a region if a country follows, or if the region is larger than the town of the same name', async () => {
    expect(await find('Oregon, USA')).toMatchObject({ level: 'region', name: 'Oregon', region_code: 'OR', city: null });
    expect(await find('Oregon', ['US'])).toMatchObject({ level: 'region', region_code: 'OR' });
    expect(await find('Texas')).toMatchObject({ level: 'region', region_code: 'TX' });
    expect(await find('New York')).toMatchObject({ level: 'place', name: 'New York City' });
    expect(await find('Berlin, Germany')).toMatchObject({ level: 'place', name: 'Berlin' });
  });

  test.each([
    ['Portland, Ore.', 'Portland US-OR'],
    ['Miami, Fla.', 'Miami US-FL'],
    ['Springfield, Mass', 'Springfield US-MA'],
    ['Hartford, Conn.', 'Hartford US-CT'],
    ['Salem, Ore. 97301', 'Salem US-OR'],
    ['Jackson Miss.', 'Jackson US-MS'],
    ['Charleston, W. Va.', 'Charleston US-WV'],
    ['Newark, N.J.', 'Newark US-NJ'],
    ['Victoria, B.C.', 'Victoria CA-02'],
    ['Newcastle, N.S.W.', 'Newcastle AU-02'],
  ])('can contain an abbreviation of a region: %s is %s', async (address, place) => {
    expect(await find(address)).toMatchObject({ ambiguous: false });
    expect(placeOf(await find(address))).toBe(place);
  });

  test('matches the much larger of two mentioned places if nothing supports the smaller place', async () => {
    expect(placeOf(await find('Barcelona, Cat'))).toBe('Barcelona ES-56');
    expect(placeOf(await find('London, Camden'))).toBe('London GB-ENG');
    // In the first address, Barcelona is part of a street name. In the second, nearby Paris supports Versailles.
    expect(placeOf(await find('Barcelona Street 12, Cat'))).toBe('Çat TR-41');
    expect(placeOf(await find('Paris, Versailles'))).toBe('Versailles FR-11');
  });

  test('is ambiguous if one of its earlier parts is the name of a similarly large place elsewhere', async () => {
    expect(await find('Paris, Lyon')).toMatchObject({ ambiguous: true, name: 'Lyon' });
    expect(await find('Paris, Lyon, France')).toMatchObject({ ambiguous: false, name: 'Lyon' });
    expect(await find('Hamburg, Altona')).toMatchObject({ ambiguous: false, name: 'Altona', country_code: 'DE' });
  });

  test.each([
    ['東京都渋谷区道玄坂1-2-3', 'Tokyo JP-40'],
    ['〒150-0043 東京都渋谷区道玄坂１丁目', 'Tokyo JP-40'],
    ['東京都町田市', 'Machida JP-40'],
    ['神奈川県横浜市西区', 'Yokohama JP-19'],
    ['三重県四日市市', 'Yokkaichi JP-23'],
    ['日本大阪府大阪市中央区', 'Osaka JP-32'],
    ['北京市朝阳区', 'Beijing CN-22'],
    ['上海市浦东新区', 'Shanghai CN-23'],
    ['100084北京市海淀区', 'Beijing CN-22'],
    ['广东省深圳市南山区', 'Shenzhen CN-30'],
  ])('can be written without spaces: %s is in %s', async (address, place) => {
    expect(placeOf(await find(address))).toBe(place);
  });

  test('has no match if it is written without spaces and contains no known town', async () => {
    for (const address of ['埼玉県市川市', '株式会社東京', '市'.repeat(500)]) expect(await find(address)).toMatchObject({ match: false });
  });

  test('does not match a town with the same name as the region if the place is unknown', async () => {
    expect(await find('Xyzzy, Oregon')).toMatchObject({ match: false });
    expect(await find('Xyzzy 5, Washington')).toMatchObject({ match: true, name: 'Washington', region_code: 'DC' });
  });

  test.each([
    ['Kyiv, Ukraine', 'Kyiv UA-12'],
    ['Buenos Aires, Argentina', 'Buenos Aires AR-07'],
    ['Washington, United States', 'Washington US-DC'],
    ['Hanoi, Vietnam', 'Hanoi VN-01'],
    ['Veracruz, Mexico', 'Veracruz MX-30'],
    ['Minsk, Minsk Region, Belarus', 'Minsk BY-04'],
  ])('matches the city rather than the region of the same name: %s is %s', async (address, place) => {
    expect(await find(address)).toMatchObject({ level: 'place', ambiguous: false });
    expect(placeOf(await find(address))).toBe(place);
  });

  test('matches a town rather than a region if the name is in the city part', async () => {
    expect(placeOf(await find({ city: 'Quebec' }))).toBe('Québec CA-10');
    expect(placeOf(await find({ city: 'Mexico' }))).toBe('Mexico City MX-09');
    expect(placeOf(await find({ city: 'Kyiv', country: 'Ukraine' }))).toBe('Kyiv UA-12');
    expect(await find({ city: 'Texas' })).toMatchObject({ level: 'region', region_code: 'TX' });
  });

  test('can contain a code such as PA or MN, which is not taken for a town', async () => {
    for (const code of ['PA', 'MN', 'IN', 'ME', 'VA', 'AL', 'LA', 'NY', 'Ø']) {
      for (const address of [`Xyzzyqton, ${code}`, `Xyzzyqton, ${code} 12345`, `Xyzzyqton ${code}`, `1 Main St, Xyzzyqton, ${code}`]) {
        expect(await find(address), address).toMatchObject({ match: false });
      }
    }
    expect(await find({ city: 'Wawa, PA' })).toMatchObject({ match: false });
    expect(await find('Paris, FR', ['US'])).toMatchObject({ match: false });
  });

  test.each([
    ['93200 Saint-Denis', 'Saint-Denis FR-11'],
    ['97400 Saint-Denis, France', 'Saint-Denis RE-RE'],
    ['Portland 97201', 'Portland US-OR'],
    ['Perth PH1 5TJ', 'Perth GB-SCT'],
    ['Lincoln LN2 1PL', 'Lincoln GB-ENG'],
    ['London N6A 1B7', 'London CA-08'],
    ['15230 Frankfurt', 'Frankfurt (Oder) DE-11'],
    ['DK-8000 Århus C', 'Århus DK-18'],
    ['Melbourne VIC 3000', 'Melbourne AU-07'],
  ])('is interpreted by the form of its postcode: %s is in %s', async (address, place) => {
    expect(await find(address)).toMatchObject({ ambiguous: false });
    expect(placeOf(await find(address))).toBe(place);
  });

  test.each([
    ['10115 Berlin', 'Berlin DE-16'],
    ['14050 Berlin', 'Berlin DE-16'],
    ['28195 Bremen', 'Bremen DE-03'],
    ['238823 Singapore', 'Singapore SG-null'],
    ['1111 Luxembourg', 'Luxembourg LU-LU'],
    ['0801 Panamá', 'Panamá PA-08'],
    ['4000 Liège', 'Liège BE-WAL'],
    ['35121 Padova', 'Padova IT-20'],
    ['11520 Mexico', 'Mexico City MX-09'],
    ['15001 Lima', 'Lima PE-LMA'],
    ['PL-00-001 Warszawa', 'Warsaw PL-78'],
    ['US-23220 Richmond', 'Richmond US-VA'],
  ])('can be a postcode with a town: %s is %s', async (address, place) => {
    const [postcode = '', city = ''] = address.split(/ (.*)/);
    for (const written of [address, { city: address }, { street: 'Xyzzy 5', postcode, city }]) {
      expect(await find(written)).toMatchObject({ level: 'place', ambiguous: false });
      expect(placeOf(await find(written))).toBe(place);
    }
  });

  test.each([
    ['48121 Ravenna', 'Ravenna IT-05'],
    ['10563 Athens', 'Athens GR-ESYE31'],
    ['London 40741', 'London GB-ENG'],
  ])('means the large town rather than a village that has the postcode, and is marked as ambiguous: %s is %s', async (address, place) => {
    expect(await find(address)).toMatchObject({ ambiguous: true });
    expect(placeOf(await find(address))).toBe(place);
  });

  test('means the town that has the postcode rather than a far larger one elsewhere, and is then marked as ambiguous', async () => {
    expect(placeOf(await find('Dublin 43017'))).toBe('Dublin US-OH');
    expect(await find('Dublin 43017')).toMatchObject({ ambiguous: true });
    expect(placeOf(await find('Manchester 03101'))).toBe('Manchester US-NH');
  });

  test('is ambiguous if the postcode beside the only place of the name belongs elsewhere', async () => {
    expect(await find('20095 München')).toMatchObject({ name: 'Munich', ambiguous: true });
    expect(await find('20095 München, Germany')).toMatchObject({ name: 'Munich', ambiguous: false });
    expect(await find('25314 Dubai')).toMatchObject({ name: 'Dubai', ambiguous: false });
  });

  test('has no match if its postcode belongs to a different country', async () => {
    expect(await find('Minneapolis SW1A 1AA')).toMatchObject({ match: false });
    expect(await find('D-10115 Minneapolis')).toMatchObject({ match: false });
  });

  test.each([
    ['60 Wall St, NYC', 'New York City US-NY'],
    ['Bangor, N. Ireland', 'Bangor GB-NIR'],
    ['Freiburg i. Br.', 'Freiburg DE-01'],
    ['Frankfurt a.M.', 'Frankfurt am Main DE-05'],
    ['Rothenburg o.d.T.', 'Rothenburg ob der Tauber DE-02'],
    ['Sesto S. Giovanni, Italy', 'Sesto San Giovanni IT-09'],
    ['Pt. Elizabeth, South Africa', 'Port Elizabeth ZA-05'],
    ['Milano (MI)', 'Milan IT-09'],
    ['Boston, Lincs', 'Boston GB-ENG'],
    ['Cork, Co. Cork', 'Cork IE-M'],
  ])('can be abbreviated: %s is in %s', async (address, place) => {
    expect(placeOf(await find(address))).toBe(place);
  });

  test('can be misspelt if it contains a region or country, and is then marked as ambiguous', async () => {
    expect(await find('Cincinatti OH')).toMatchObject({ name: 'Cincinnati', ambiguous: true, score: 0.6 });
    expect(await find('Albequerque, NM')).toMatchObject({ name: 'Albuquerque', ambiguous: true });
    expect(await find('Cincinatti')).toMatchObject({ match: false });
    // A name that exists elsewhere in the country is not treated as a misspelling.
    expect(await find('Houston, OH')).not.toMatchObject({ name: 'Hudson' });
  });

  test('is returned with the parts that were understood and the parts that were ignored', async () => {
    expect(await find('12 Main St, Springfield, IL 62701')).toMatchObject({
      matched: [
        { text: '12 Main St', as: 'street' },
        { text: 'Springfield', as: 'place' },
        { text: 'IL', as: 'region' },
        { text: '62701', as: 'postcode' },
      ],
      left_over: null,
      score: 1,
    });
    expect(await find('Rossio, Lisboa, Portugal')).toMatchObject({ left_over: 'Rossio', ambiguous: false, score: 0.81 });
    expect(await find('Boston, Qwertyshire, UK')).toMatchObject({ left_over: 'Qwertyshire', ambiguous: true, score: 0.7 });
    expect(await find('Xyzzy, TX')).toMatchObject({ match: false, matched: [{ text: 'TX', as: 'region' }], left_over: 'Xyzzy' });
    expect(await find({ city: 'Paris', state: 'Qwerty' })).toMatchObject({ name: 'Paris', ambiguous: true });
    expect((await near(52.52, 13.405)).matched).toEqual([]);
  });

  test.each([
    ...['info@example.com', 'None', 'n/a', 'no address on file', 'c/o Jack London', 'Paris Hilton', '5 London Road', 'Box 12'],
    ...['5 London Road, Littlehamlet Parva', 'www.paris.example', 'New York Times', 'Rue de Lyon', 'Charlotte Bronte'],
  ])('is not found in a string that only resembles an address: %s', async (text) => {
    expect(await find(text)).toMatchObject({ match: false });
  });

  test('can consist of separate parts', async () => {
    const paris = { street: '5 Main St', city: 'Paris', state: 'TX', postcode: '75460', country: 'USA' };
    expect(placeOf(await find(paris))).toBe('Paris US-TX');
    expect(placeOf(await find({ ...paris, state: 'Texas', country: '' }))).toBe('Paris US-TX');
    expect(placeOf(await find({ city: 'Paris' }))).toBe('Paris FR-11');
    expect(placeOf(await find({ city: '10115 Berlin', country: 'Deutschland' }))).toBe('Berlin DE-16');
    expect(await find({ state: 'TX', country: 'US' })).toMatchObject({ level: 'region', region_code: 'TX' });
    expect(await find({ street: '5 Main St', state: 'TX' })).toMatchObject({ match: false });
    expect(await find({ city: 'Paris', country: 'Atlantis' })).toMatchObject({ match: false });
  });

  test('is ambiguous if a second place of the same name is at least a tenth as large', async () => {
    const springfield = await find('Springfield');
    expect(springfield).toMatchObject({ ambiguous: true, name: 'Springfield', region_code: 'MO' });
    expect((springfield.candidates as unknown[]).length).toBe(5);
    expect(springfield.candidates).toContainEqual(expect.objectContaining({ name: 'Springfield', region_code: 'IL', country_code: 'US' }));
    expect(await find('Springfield', ['US'])).toMatchObject({ ambiguous: true });
    expect(await find('Springfield, IL')).toMatchObject({ ambiguous: false });
    expect(await find('Paris')).toMatchObject({ ambiguous: false });
  });

  test('leads to a document with all fields', async () => {
    expect(await find('Saint Louis, Missouri')).toEqual({
      match: true,
      lat: 38.62727,
      lon: -90.19789,
      level: 'place',
      name: 'St. Louis',
      street: null,
      housenumber: null,
      postcode: null,
      city: 'St. Louis',
      county: null,
      region: 'Missouri',
      region_code: 'MO',
      country: 'United States of America',
      country_code: 'US',
      population: 315685,
      distance_m: null,
      score: 1,
      ambiguous: false,
      doubt: null,
      matched: [
        { text: 'Saint Louis', as: 'place' },
        { text: 'Missouri', as: 'region' },
      ],
      left_over: null,
      fips: null,
      candidates: [{ name: 'St. Louis', region_code: 'MO', country_code: 'US', lat: 38.62727, lon: -90.19789, population: 315685 }],
      attribution: 'GeoNames, CC BY 4.0, https://www.geonames.org',
    });
  });

  test.each([
    ['Springfield', 'ambiguous'],
    ['Paris, TX', null],
    ['Rossio, Lisboa, Portugal', 'left over: Rossio'],
    ['Boston, Lincz', 'ambiguous; left over: Lincz'],
    ['Cincinatti OH', 'ambiguous; misspelt'],
    ['Xyzzy, TX', null],
  ])('has a reason for doubt, or null: for %j, the reason is %j', async (address, doubt) => {
    expect(await find(address)).toMatchObject({ doubt, ambiguous: doubt?.startsWith('ambiguous') ?? false });
  });

  test.each(['12345', 'Unknown', 'the quick brown fox', "Joe's Diner", 'a'.repeat(500), '""][(', '\0', '𝔓𝔞𝔯𝔦𝔰𝔵'])(
    'is not found if it is %j',
    async (address) => {
      expect(await find(address)).toMatchObject({ match: false, lat: null, lon: null, level: null, candidates: [] });
    },
  );
});

// The list was written before the code was first run. In that first run, 83 of the addresses were right.
test('the lookup of addresses is right for all 84 addresses that were not used to tune it', async () => {
  const rows = parse(readFileSync(new URL('addresses.csv', import.meta.url)), { columns: true }) as Record<string, string>[];
  const wrong: string[] = [];
  for (const { address = '', place, region, country } of rows) {
    const found = await find(address);
    const isRight = found.level === 'place' && found.name === place && found.country_code === country;
    if (!isRight || (region !== '' && found.region_code !== region)) wrong.push(`${address}: ${placeOf(found)}`);
  }
  expect({ right: rows.length - wrong.length, of: rows.length, wrong }).toEqual({ right: 84, of: 84, wrong: [] });
});

describe('a point looked up in the embedded data', () => {
  test.each([
    [40.758, -73.9855, 'US', 'NY'],
    [48.8584, 2.2945, 'FR', '11'],
    [44.95, 34.1, 'UA', '11'],
    [-33.86, 151.21, 'AU', '02'],
  ])('at %d, %d is in %s-%s', async (lat, lon, country, region) => {
    expect(await near(lat, lon)).toMatchObject({ match: true, level: 'place', country_code: country, region_code: region });
  });

  test('has a county and a state in the USA', async () => {
    const { county, fips } = await near(40.758, -73.9855);
    expect({ county, fips }).toEqual({ county: 'New York', fips: { state: '36', county: '36061', tract: null, block: null } });
    expect((await near(18.4655, -66.1057)).fips).toMatchObject({ state: '72', county: '72127' });
    expect((await near(48.8584, 2.2945)).fips).toBe(null);
  });

  test('belongs to the nearest place in any country if its own country has no place within 10 km', async () => {
    expect(await near(44.95, 34.1)).toMatchObject({ name: 'Simferopol', country_code: 'UA' });
  });

  test('has no match if no place is within the maximum distance', async () => {
    expect(await near(0, -150)).toMatchObject({ match: false, name: null, distance_m: null, fips: null });
    expect(await near(0, -150, 1_000_000)).toMatchObject({ match: true, country_code: 'KI' });
    expect(await near(48.8584, 2.2945, 10)).toMatchObject({ match: false });
  });

  test('near the date line has the same match on both sides', async () => {
    const [east, west] = [await near(-16.8, 179.99), await near(-16.8, -179.99)];
    expect(east).toMatchObject({ match: true, country_code: 'FJ' });
    expect(west.name).toBe(east.name);
    expect(Math.abs(Number(west.distance_m) - Number(east.distance_m))).toBeLessThan(2200);
    expect(await near(-16.8, 180)).toMatchObject({ name: east.name });
    expect((await near(-16.8, -180)).distance_m).toBe((await near(-16.8, 180)).distance_m);
  });

  test('can be a pole', async () => {
    expect(await near(90, 0)).toMatchObject({ match: false });
    expect(await near(90, 0, 2_000_000)).toMatchObject({ name: (await near(90, 135, 2_000_000)).name });
    expect(await near(-90, 77, 2_000_000)).toMatchObject({ match: true, country_code: 'AQ' });
  });

  test('near a border belongs to the nearest place in its own country', async () => {
    // Places of the neighbouring country are nearer: El Paso, River Rouge in Michigan, Gemmenich in Belgium.
    expect(await near(31.745, -106.485)).toMatchObject({ country_code: 'MX', name: 'Ciudad Juárez' });
    expect(await near(31.745, -106.485, 100_000, ['US'])).toMatchObject({ distance_m: 1536 });
    expect(await near(42.28, -83.1)).toMatchObject({ country_code: 'CA', name: 'Windsor' });
    expect(await near(50.78, 6.02)).toMatchObject({ country_code: 'DE', name: 'Aachen' });
  });

  test('in a part of a town is returned with that town', async () => {
    expect(await near(52.52, 13.405)).toMatchObject({ name: 'Mitte', city: 'Berlin' });
    expect(await near(40.758, -73.9855)).toMatchObject({ name: "Hell's Kitchen", city: 'New York City' });
    expect(await near(46.5197, 6.6323)).toMatchObject({ name: 'Lausanne', city: 'Lausanne' });
  });

  test('in a district of a large city belongs to the city, and in a neighbouring town to that town', async () => {
    expect(await near(41.037, 28.985)).toMatchObject({ city: 'Istanbul' });
    expect(await near(34.1016, -118.3267)).toMatchObject({ city: 'Los Angeles' });
    expect(await near(34.0677, -118.401)).toMatchObject({ city: 'Beverly Hills' });
    expect(await near(48.8049, 2.1204)).toMatchObject({ city: 'Versailles' });
  });

  test('is searched for only in the countries of the query', async () => {
    expect(await near(31.745, -106.485, 100_000, ['US'])).toMatchObject({ country_code: 'US', region_code: 'TX' });
    expect(await near(48.8584, 2.2945, 100_000, ['US'])).toMatchObject({ match: false });
  });

  test('is returned with the haversine distance for an earth radius of 6,371,008.8 m', async () => {
    const { lat, lon, distance_m: distance } = await near(52, 13, 100_000);
    const half = (degrees: number) => Math.sin((degrees * Math.PI) / 360) ** 2;
    const cosines = Math.cos((52 * Math.PI) / 180) * Math.cos((Number(lat) * Math.PI) / 180);
    const expected = 2 * 6_371_008.8 * Math.asin(Math.sqrt(half(Number(lat) - 52) + cosines * half(Number(lon) - 13)));
    expect(distance).toBe(Math.round(expected));
  });
});
