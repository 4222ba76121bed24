import { describe, expect, test } from 'vitest';
import { loadChains } from '../../../src/places/data/chains/chains.ts';
import type { ChainQuery } from '../../../src/places/lookup.ts';
import { dataFolder } from '../../helpers/data-folder.ts';
import { noChains, spellings } from './company-names.ts';
import { readTable } from './table.ts';

const find = await loadChains(dataFolder);
const lookUp = (name: string, more: Partial<ChainQuery> = {}) => find({ name, minScore: 0.85, ...more });

describe('the chain found for a name', () => {
  test.each([
    ['REWE Markt GmbH-Zw Sued//Mainz/DE / 2026-03-12T18:22:10', 'Rewe'],
    ['KAUFLAND BERLIN 1234', 'Kaufland'],
    ['WALMART.COM 8009666546 BENTONVILLE AR', 'Walmart'],
    ['EXXONMOBIL 97123456 HOUSTON TX', 'Exxon'],
    ['COMPRA MERCADONA VALENCIA TARJ. :*123456', 'Mercadona'],
    ['BEA   NR:12AB34 12.03.26/18.22 ALBERT HEIJN 1234 AMSTERDAM', 'Albert Heijn'],
    ['ZAKUP PRZY UZYCIU KARTY LIDL POZNAN', 'Lidl'],
    ['DANKORT-NOTA NETTO 1234 AARHUS', 'Netto'],
    ['REMA 1000 OSLO', 'Rema 1000'],
  ])('is right in a line of a bank statement: %s is %s', (line, name) => {
    expect(String(lookUp(line).name).toLowerCase()).toBe(name.toLowerCase());
  });

  test.each([
    'AMZN Mktp DE*2K4LM1',
    'MIETE MAERZ MUELLER',
    'GEHALT 03/2026 ACME GMBH',
    'CITY OF SEATTLE PARKING',
    'NETFLIX.COM LOS GATOS CA',
  ])('is none in a line of a bank statement without a chain: %s', (line) => {
    expect(lookUp(line)).toMatchObject({ match: false });
  });

  test.each(readTable<'name' | 'country' | 'id'>('chains.csv'))(
    'is right: $name in the country $country is $id',
    ({ name, country, id }) => {
      expect(lookUp(name, country === '' ? {} : { country })).toMatchObject({
        match: true,
        id,
        ...(country !== '' && { ambiguous: false }),
      });
    },
  );

  test.each([
    ['exact', "McDonald's", 1],
    ['cleaned', 'mc donalds', 0.98],
    ['cleaned', 'LIDL GmbH & Co. KG', 0.95],
    ['start', 'Fielmann Optiker', 0.92],
    ['fuzzy', 'starbuks', 0.89],
  ])('is found by the method "%s" for the spelling %s, with the score %d', (method, name, score) => {
    expect(lookUp(name)).toMatchObject({ match: true, method, score });
  });

  test.each([
    ['STARBUCKS #1234', null],
    ['Target', 'ambiguous'],
    ['starbuks', 'misspelt'],
    ['Migroos', 'ambiguous; misspelt'],
    ["TST* TRADER JOE'S OAKLAND", null],
    ["Joe's Diner", null],
  ])('has a reason for doubt, or null: for %j, the reason is %j', (name, doubt) => {
    expect(lookUp(name)).toMatchObject({ doubt, ambiguous: doubt?.startsWith('ambiguous') ?? false });
  });

  test('is marked as doubtful if it is not in the country', () => {
    expect(lookUp('Rewe', { country: 'JP' })).toMatchObject({ match: true, doubt: 'not in JP' });
    expect(lookUp('Rewe', { country: 'DE' })).toMatchObject({ match: true, doubt: null });
  });

  test('is marked as doubtful if its score is below the default minimum', () => {
    expect(lookUp('Petco Animal Supplies', { minScore: 0.6 })).toMatchObject({ match: true, score: 0.7, doubt: 'low score' });
  });

  test.each([
    ['WM SUPERCENTER #1234', 'Q483551'],
    ['WHOLEFDS MKT 10234 AUSTIN TX', 'Q1809448'],
    ['ALDI SUED SAGT DANKE', 'Q41171672'],
    ['APPLE PAY 7-ELEVEN 33121', 'Q259340'],
  ])('can also be found in the bank statement line %s', (name, id) => {
    expect(lookUp(name)).toMatchObject({ match: true, id, doubt: null });
  });

  test('is returned with all columns', () => {
    expect(lookUp('The Home Depot')).toEqual({
      query: 'The Home Depot',
      match: true,
      ambiguous: false,
      doubt: null,
      name: 'The Home Depot',
      matched_name: 'The Home Depot',
      id: 'Q864407',
      category: 'shop/doityourself',
      categories: ['shop/doityourself'],
      countries: ['CA', 'MX', 'US'],
      score: 1,
      method: 'exact',
      candidates: [{ name: 'The Home Depot', id: 'Q864407', category: 'shop/doityourself', score: 1, method: 'exact' }],
    });
  });

  test.each([
    ['Shoppers Drug Mart', 'Shoppers Drug Mart', 'Shoppers Drug Mart'],
    ['Pharmaprix', 'Pharmaprix', 'Pharmaprix'],
    ['ICA NARA', 'ICA Nära', 'ICA Nära'],
    ['Marks', "Mark's", "Mark's"],
    ['USAgain', 'USAgain', 'USAgain'],
    // A brand's names in several languages, and the name of a sub-brand.
    ['マクドナルド', "McDonald's", 'マクドナルド'],
    ['元気寿司', 'Genki Sushi', '元気寿司'],
    ['Costco Optical', 'Costco', 'Costco Optical'],
  ])('can be found by any name of its brand, and the matching name is returned, too: %s is %s', (name, brand, matched) => {
    expect(lookUp(name)).toMatchObject({ match: true, name: brand, matched_name: matched });
  });

  test('is returned with the category of its brand', () => {
    expect(lookUp('USAgain')).toMatchObject({ id: 'Q107673127', category: 'amenity/recycling' });
    expect(lookUp('BottleDrop')).toMatchObject({ id: 'Q107673127', name: 'BottleDrop' });
  });

  test('has the country code 001 if it is worldwide, and its main category first', () => {
    expect(lookUp("McDonald's")).toMatchObject({ countries: ['001'], category: 'amenity/fast_food' });
  });

  test('can lack a Wikidata id', () => {
    expect(lookUp('Markant', { category: 'amenity/fuel' })).toMatchObject({ match: true, name: 'Markant', id: null });
  });

  test('has a matching main name rather than a matching alternative name', () => {
    // "Coles" is also an alternative name of Shell.
    expect(lookUp('Coles')).toMatchObject({ name: 'Coles' });
  });

  test('does not depend on the legal form of a company: CARREFOUR S.A. is Carrefour', () => {
    expect(lookUp('CARREFOUR S.A.')).toMatchObject({ name: 'Carrefour' });
    expect(lookUp('CarrefourSA')).toMatchObject({ name: 'CarrefourSA' });
  });
});

describe('the score of a chain', () => {
  test('is below 1 for a former or alternative name', () => {
    expect(lookUp('Kentucky Fried Chicken')).toMatchObject({ name: 'KFC', method: 'exact', score: 0.97 });
  });

  test('is lower by 0.1 if the chain is not in the country', () => {
    expect(lookUp('Bunnings Warehouse', { country: 'AU' }).score).toBe(1);
    expect(lookUp('Bunnings Warehouse', { country: 'US' }).score).toBe(0.9);
  });
});

describe('the main category of a chain', () => {
  test.each([
    ['Carrefour', 'shop/supermarket'],
    ["Sainsbury's", 'shop/supermarket'],
    ['Asda', 'shop/supermarket'],
    ['Publix', 'shop/supermarket'],
    ['Safeway', 'shop/supermarket'],
    ['METRO', 'shop/wholesale'],
    ['Moneta Bank', 'amenity/bank'],
    ['Sephora', 'shop/cosmetics'],
    ['Walgreens', 'amenity/pharmacy'],
  ])('is the category of the main business, not of a side business: for %s it is %s', (name, category) => {
    expect(lookUp(name)).toMatchObject({ name, category });
  });
});

describe('a name that belongs to two chains', () => {
  test('is not ambiguous if one chain is worldwide and the other chain is much smaller', () => {
    expect(lookUp('Mc Donalds')).toMatchObject({ id: 'Q38076', ambiguous: false });
    expect(lookUp('Lidl')).toMatchObject({ id: 'Q151954', ambiguous: false });
  });

  test('is not ambiguous if one chain is in many countries and the other chain is much smaller', () => {
    // The second match is Taco Bell Cantina, which exists only in the USA.
    expect(lookUp('TACO BELL')).toMatchObject({ id: 'Q752941', ambiguous: false });
  });

  test('is ambiguous if both chains are large, and the more widespread chain is returned', () => {
    const answer = lookUp('Target');
    expect(answer).toMatchObject({ match: true, ambiguous: true, id: 'Q1046951' });
    expect(answer.candidates).toMatchObject([{ id: 'Q1046951' }, { id: 'Q7685854' }]);
  });

  test('is resolved by the category if the country does not resolve it', () => {
    expect(lookUp('Walmart', { category: 'amenity/fuel' })).toMatchObject({ id: 'Q62606411', ambiguous: false });
    expect(lookUp('Walmart', { category: 'shop/supermarket', country: 'US' })).toMatchObject({ id: 'Q483551', ambiguous: false });
  });

  test('is assigned to the chain in the country rather than to a worldwide chain', () => {
    expect(lookUp("McDonald's", { country: 'UA' })).toMatchObject({ id: 'Q4043856', ambiguous: false });
    expect(lookUp("McDonald's", { country: 'FR' })).toMatchObject({ id: 'Q38076', ambiguous: false });
  });
});

describe('a name that does not belong to a chain', () => {
  test.each([
    ["Joe's Diner"],
    ['Smith & Sons Plumbing'],
    ['Dr. Anna Müller'],
    ['Acme Widgets Ltd'],
    ['City Hall'],
    ['Unknown'],
    // There are chains whose names begin with the same words, or are almost the same.
    ['Springfield Public Library'],
    ['Springfield Mall'],
    ['Wendy Services'],
    ['Best Western Regional Medical Center'],
    ['Continental Tax Services'],
    ['Metropolitan Museum of Art'],
    ['National Bank of Somewhere'],
    ['Pharmacy'],
    ['Parking'],
    // Words that are not specific to one company.
    ['Cash'],
    ['Warehouse 3'],
    ['ABC Company'],
  ])('has no match: %s', (name) => {
    expect(lookUp(name)).toMatchObject({ match: false, ambiguous: false, name: null, id: null, category: null, score: null, method: null });
  });

  test('can be a misspelt name of a chain that exists only in a different country', () => {
    expect(lookUp('Bunings Warehouse', { country: 'AU' })).toMatchObject({ match: true, score: 0.94 });
    expect(lookUp('Bunings Warehouse', { country: 'DE' })).toMatchObject({ match: false });
  });

  test('can be an independent restaurant whose name resembles a chain in the country', () => {
    expect(lookUp('Restaurante El Rincón', { country: 'ES' }).match).toBe(false);
  });

  test('still has up to five candidates, the best candidate first', () => {
    const answer = lookUp('Petco Animal Supplies');
    expect(answer.match).toBe(false);
    expect(answer.candidates).toMatchObject([{ name: 'Petco', score: 0.7, method: 'start' }]);
    expect(lookUp('Petco Animal Supplies', { minScore: 0.6 })).toMatchObject({ match: true, name: 'Petco' });
    expect((lookUp('Sparkasse Berlin').candidates as unknown[]).length).toBeLessThanOrEqual(5);
  });

  test.each([['...'], ['&'], ['12345'], ['🙂'], ['\u0000"];'], ['x'.repeat(500)]])('can be any unusual text: %j', (name) => {
    expect(lookUp(name)).toMatchObject({ query: name });
  });
});

describe('a chain lookup, tested with names that were not used to tune it,', () => {
  test('finds the right chain for at least 85 of 100 alternative spellings', () => {
    const right = spellings.filter(([written, chain]) => String(lookUp(written).name).toLowerCase() === chain.toLowerCase());
    expect(right.length).toBeGreaterThanOrEqual(85);
  });

  test('finds a chain for at most 5 of 100 names that are not chains', () => {
    expect(noChains.filter((name) => lookUp(name).match).length).toBeLessThanOrEqual(5);
  });
});

test.each(['BP', 'Aral', 'Shell', 'Esso'])('the chain %s, which has shops and car washes, has the main category fuel', (name) => {
  expect(lookUp(name)).toMatchObject({ match: true, category: 'amenity/fuel' });
});
