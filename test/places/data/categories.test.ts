import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadCategories } from '../../../src/places/data/categories/categories.ts';
import { loadCategoryNames } from '../../../src/places/data/categories/category-names.ts';
import { dataFolder } from '../../helpers/data-folder.ts';
import { categoryWords } from './category-words.ts';

const find = loadCategories(dataFolder);
const lookUp = (words: string, language?: string, minScore = 0.7) => find({ words, language, minScore });

describe('the category found for words', () => {
  test('has an id, a name in the language of the words, tags and a score', () => {
    expect(lookUp('Apotheke', 'de')).toEqual({
      query: 'Apotheke',
      match: true,
      id: 'amenity/pharmacy',
      name: 'Apotheke',
      tags: { amenity: 'pharmacy' },
      score: 1,
      candidates: expect.arrayContaining([{ id: 'amenity/pharmacy', name: 'Apotheke', tags: { amenity: 'pharmacy' }, score: 1 }]),
    });
  });

  test('has an English name if the language is not set or unknown', () => {
    expect(lookUp('コンビニエンスストア')).toMatchObject({ id: 'shop/convenience', name: 'Convenience Store' });
    expect(lookUp('bakery', 'tlh')).toMatchObject({ id: 'shop/bakery', name: 'Bakery' });
    expect(lookUp('boulangerie', 'fr-CH')).toMatchObject({ id: 'shop/bakery', name: 'Boulangerie' });
  });

  test.each([
    ['en', 'bakery'],
    ['de', 'Bäckerei'],
    ['fr', 'boulangerie'],
    ['es', 'panadería'],
    ['it', 'panetteria'],
    ['pt', 'padaria'],
    ['nl', 'bakkerij'],
    ['pl', 'piekarnia'],
    ['sv', 'bageri'],
    ['cs', 'pekařství'],
    ['ru', 'пекарня'],
    ['uk', 'пекарня'],
    ['ja', 'パン屋'],
    ['ko', '빵집'],
    ['zh', '面包店'],
    ['tr', 'fırın'],
    ['fi', 'leipomo'],
    ['el', 'αρτοποιείο'],
  ])('is found in the language %s: %s', (language, words) => {
    expect(lookUp(words, language)).toMatchObject({ match: true, id: 'shop/bakery' });
  });

  test.each([
    ['shoe store', 'shop/shoes'],
    ['shoe stores', 'shop/shoes'],
    ['stores for shoes', 'shop/shoes'],
    ['pharmacies', 'amenity/pharmacy'],
    ['Fast-Food', 'amenity/fast_food'],
    ['resturant', 'amenity/restaurant'],
    ['coffee shop', 'amenity/cafe/coffee_shop'],
    ['fire stations', 'amenity/fire_station'],
    ['charging stations', 'amenity/charging_station'],
    ['botanical gardens', 'leisure/garden/botanical'],
    ['amenity/cafe', 'amenity/cafe'],
    ['amenity=cafe', 'amenity/cafe'],
    ['amenity/cafe/coffee_shop', 'amenity/cafe/coffee_shop'],
  ])('is found for a plural, a different word order, a misspelling or an id: %s', (words, id) => {
    expect(lookUp(words, 'en')).toMatchObject({ match: true, id });
  });

  test.each([
    ['en', "dentist's office", 'amenity/dentist', 'the word for any place is ignored'],
    ['en', 'burger place', 'amenity/fast_food/burger', 'the word for any place is ignored'],
    ['en', 'clothing', 'shop/clothes', 'the word for any shop in the name is ignored'],
    ['en', 'church', 'amenity/place_of_worship/christian', 'the main word of a name beats a term of many categories'],
    ['fr', 'église', 'amenity/place_of_worship/christian', 'the main word of a name beats a term of many categories'],
    ['fr', 'école', 'amenity/school', 'the main word of several names; the category with more chains wins'],
    ['es', 'escuela', 'amenity/school', 'a term of one category beats the main word of several'],
    ['fr', 'quincaillerie', 'shop/hardware', 'two categories have the name; the category with more chains wins'],
    ['fr', 'gare', 'railway/station', 'the station itself beats its platforms'],
    ['en', 'bus stop', 'highway/bus_stop', 'the usual tag beats the new tag'],
    ['en', 'primary school', 'amenity/school', 'only the main word fits'],
    ['fr', 'école maternelle', 'amenity/kindergarten', 'a word for the building finds the place'],
    [undefined, 'Montessori school', 'amenity/school', 'only the main word fits'],
    ['de', 'Bahnhof', 'railway/station', 'a word for the building finds the place'],
    ['en', 'vet', 'amenity/veterinary', 'an everyday word'],
    [undefined, 'station-service', 'amenity/fuel', 'a name in a foreign language beats the stems of an English term'],
  ])('is found in the language %s: for %s, the category is %s (%s)', (language, words, id, _why) => {
    expect(lookUp(words, language)).toMatchObject({ match: true, id });
  });

  test.each([
    ['fr', 'hôpitaux', 'amenity/hospital'],
    ['es', 'estaciones de tren', 'railway/station'],
    ['it', 'banche', 'amenity/bank'],
    ['de', 'Krankenhäuser', 'amenity/hospital'],
    ['nl', 'ziekenhuizen', 'amenity/hospital'],
    ['sv', 'skolor', 'amenity/school'],
    ['fi', 'apteekit', 'amenity/pharmacy'],
    ['tr', 'eczaneler', 'amenity/pharmacy'],
    ['ru', 'рестораны', 'amenity/restaurant'],
    ['uk', 'аптеки', 'amenity/pharmacy'],
    ['el', 'ξενοδοχεία', 'tourism/hotel'],
    ['pl', 'restauracje', 'amenity/restaurant'],
    ['cs', 'lékárny', 'amenity/pharmacy'],
    ['pt', 'hotéis', 'tourism/hotel'],
    ['nl', 'slager', 'shop/butcher'],
    ['de', 'Bäcker', 'shop/bakery'],
  ])("is found for a plural or a tradesman's job title in the language %s: %s", (language, words, id) => {
    expect(lookUp(words, language)).toMatchObject({ match: true, id });
  });

  test('is the general category if a more specific category fits equally well', () => {
    expect(lookUp('mairie', 'fr').id).toBe('amenity/townhall');
  });

  test('is found by its exact name in a foreign language, but not by a similar foreign word', () => {
    // The German word "Burg" (castle) is similar, but must not match.
    expect(lookUp('burger').id).toBe('amenity/fast_food/burger');
    expect(lookUp('Kita').id).toBe('amenity/kindergarten');
  });

  test('is not found if the main word fits many kinds of places', () => {
    expect(lookUp('power station').match).toBe(false);
  });

  test('can be a specific category, and then has all its tags', () => {
    expect(lookUp('Coffeehouse')).toMatchObject({ id: 'amenity/cafe/coffee_shop', tags: { amenity: 'cafe', cuisine: 'coffee_shop' } });
  });

  test.each([['xyzzy'], ['...'], ['🙂'], ['x'.repeat(500)]])('is not found for words without a meaning: %j', (words) => {
    expect(lookUp(words)).toMatchObject({ match: false, id: null, name: null, tags: null, score: null });
  });

  test('is only a candidate if the words fit badly, unless min_score is lower', () => {
    expect(lookUp('sushi bar zzz', 'en').match).toBe(false);
    expect(lookUp('sushi bar zzz', 'en', 0.4).match).toBe(true);
    expect((lookUp('sushi bar zzz', 'en').candidates as unknown[]).length).toBeLessThanOrEqual(5);
  });
});

test('the first category found is right in at least 75 of 100 test cases, and one of the candidates in 90', () => {
  for (const isTold of [true, false]) {
    const answers = categoryWords.map(([words, language, id]) => ({
      ids: id.split('|'),
      answer: lookUp(words, isTold ? language : undefined),
    }));
    const first = answers.filter(({ ids, answer }) => ids.includes(String(answer.id)));
    const among = answers.filter(({ ids, answer }) => (answer.candidates as { id: string }[]).some(({ id }) => ids.includes(id)));
    expect(first.length).toBeGreaterThanOrEqual(75);
    expect(among.length).toBeGreaterThanOrEqual(90);
  }
});

test('the category names of other languages are loaded once per process, and only if English has no match', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'categories-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['categories.br', 'categories-en.br']) await copyFile(join(dataFolder, name), join(folder, name));
  expect(loadCategoryNames(folder)('cafe')).toMatchObject({ id: 'amenity/cafe' });
  expect(() => loadCategoryNames(folder)('xyzzy')).toThrow(/the embedded data "categories-\w\w" cannot be read/);
  await rm(folder, { recursive: true });
  expect(loadCategoryNames(folder)('bakery')).toMatchObject({ id: 'shop/bakery' });
});
