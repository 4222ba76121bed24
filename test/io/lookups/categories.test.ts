import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadCategories } from '../../../src/io/lookups/categories/categories.ts';
import { loadCategoryNames } from '../../../src/io/lookups/categories/category-names.ts';
import { dataFolder } from '../../helpers/data-folder.ts';
import { categoryWords } from './category-words.ts';

const find = loadCategories(dataFolder);
const lookUp = (words: string, language?: string, minScore = 0.7) => find({ words, language, minScore });

describe('words for a category', () => {
  test('give its id, its name in the language, its tags and a score', () => {
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

  test('give the name in English without a language, and in an unknown one', () => {
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
  ])('are known in the language %s: %s', (language, words) => {
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
  ])('may be plural, in another order, misspelt or an id: %s', (words, id) => {
    expect(lookUp(words, 'en')).toMatchObject({ match: true, id });
  });

  test.each([
    ['en', "dentist's office", 'amenity/dentist', 'without the word for any place'],
    ['en', 'burger place', 'amenity/fast_food/burger', 'without the word for any place'],
    ['en', 'clothing', 'shop/clothes', 'the name without the word for any shop'],
    ['en', 'church', 'amenity/place_of_worship/christian', 'the main word of a name before a term of many'],
    ['fr', 'église', 'amenity/place_of_worship/christian', 'the main word of a name before a term of many'],
    ['fr', 'école', 'amenity/school', 'the main word of a name, of the kind with more chains'],
    ['es', 'escuela', 'amenity/school', 'a term of one kind before the main word of several'],
    ['fr', 'quincaillerie', 'shop/hardware', 'of two with one name the one with more chains'],
    ['fr', 'gare', 'railway/station', 'the station itself before its platforms'],
    ['en', 'bus stop', 'highway/bus_stop', 'the usual tag before the new one'],
    ['en', 'primary school', 'amenity/school', 'the main word if nothing fits'],
    ['fr', 'école maternelle', 'amenity/kindergarten', 'a word for the building'],
    [undefined, 'Montessori school', 'amenity/school', 'the main word if nothing fits'],
    ['de', 'Bahnhof', 'railway/station', 'a word for the building'],
    ['en', 'vet', 'amenity/veterinary', 'an everyday word'],
    [undefined, 'station-service', 'amenity/fuel', 'a name in another language before the stems of an English term'],
  ])('are understood (%s): %s is %s, %s', (language, words, id, _why) => {
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
  ])('may be plural, or the trade, in the language %s: %s', (language, words, id) => {
    expect(lookUp(words, language)).toMatchObject({ match: true, id });
  });

  test('that name a plain category as well as a finer one mean the plain one', () => {
    expect(lookUp('mairie', 'fr').id).toBe('amenity/townhall');
  });

  test('in another language count as names only, where English words fit', () => {
    // "Burg" is a castle in German.
    expect(lookUp('burger').id).toBe('amenity/fast_food/burger');
    expect(lookUp('Kita').id).toBe('amenity/kindergarten');
  });

  test('whose main word names many kinds of places have no match', () => {
    expect(lookUp('power station').match).toBe(false);
  });

  test('mean the finer category by the id of its preset, with all its tags', () => {
    expect(lookUp('Coffeehouse')).toMatchObject({ id: 'amenity/cafe/coffee_shop', tags: { amenity: 'cafe', cuisine: 'coffee_shop' } });
  });

  test.each([['xyzzy'], ['...'], ['🙂'], ['x'.repeat(500)]])('that mean nothing have no match: %j', (words) => {
    expect(lookUp(words)).toMatchObject({ match: false, id: null, name: null, tags: null, score: null });
  });

  test('that fit badly are candidates, and a match with a lower min_score', () => {
    expect(lookUp('sushi bar zzz', 'en').match).toBe(false);
    expect(lookUp('sushi bar zzz', 'en', 0.4).match).toBe(true);
    expect((lookUp('sushi bar zzz', 'en').candidates as unknown[]).length).toBeLessThanOrEqual(5);
  });
});

test('of 100 words set aside before the search was tuned, at least 75 are right at once and 90 among the candidates', () => {
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

test('the words of a language are read once in a process, when English does not answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'categories-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['categories.br', 'categories-en.br']) await copyFile(join(dataFolder, name), join(folder, name));
  expect(loadCategoryNames(folder)('cafe')).toMatchObject({ id: 'amenity/cafe' });
  expect(() => loadCategoryNames(folder)('xyzzy')).toThrow(/the embedded data "categories-\w\w" cannot be read/);
  await rm(folder, { recursive: true });
  expect(loadCategoryNames(folder)('bakery')).toMatchObject({ id: 'shop/bakery' });
});
