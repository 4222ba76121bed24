import { describe, expect, test } from 'vitest';
import { loadCategories } from '../../../src/io/lookups/categories/categories.ts';
import { dataFolder } from '../../helpers/data-folder.ts';
import { categoryWords } from './category-words.ts';

const find = await loadCategories(dataFolder);
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
    ['amenity/cafe', 'amenity/cafe'],
    ['amenity=cafe', 'amenity/cafe'],
    ['amenity/cafe/coffee_shop', 'amenity/cafe/coffee_shop'],
  ])('may be plural, in another order, misspelt or an id: %s', (words, id) => {
    expect(lookUp(words, 'en')).toMatchObject({ match: true, id });
  });

  test('mean the finer category by the id of its preset, with all its tags', () => {
    expect(lookUp('Coffeehouse')).toMatchObject({ id: 'amenity/cafe/coffee_shop', tags: { amenity: 'cafe', cuisine: 'coffee_shop' } });
  });

  test.each([['xyzzy'], ['...'], ['🙂'], ['x'.repeat(500)]])('that mean nothing have no match: %j', (words) => {
    expect(lookUp(words)).toMatchObject({ match: false, id: null, name: null, tags: null, score: null });
  });

  test('that fit badly are candidates, and a match with a lower min_score', () => {
    expect(lookUp('pizza place', 'en').match).toBe(false);
    expect(lookUp('pizza place', 'en', 0.4).match).toBe(true);
    expect((lookUp('pizza place', 'en').candidates as unknown[]).length).toBeLessThanOrEqual(5);
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
