import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadCategories } from '../../../src/places/data/categories/categories.ts';
import { loadCategoryNames } from '../../../src/places/data/categories/category-names.ts';
import { dataFolder } from '../../helpers/data-folder.ts';
import { readTable } from './table.ts';

/** Words in a language, and the category that is found for them. */
const categories = readTable<'language' | 'words' | 'id' | 'why'>('categories.csv');

/**
 * Everyday words for kinds of places, each with its category. Equally good categories are separated by `|`. The list was written before
 * the search was tuned, and must not be used to tune it.
 */
const categoryWords = readTable<'words' | 'language' | 'category'>('category-words.csv');

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

  test.each(categories)('is $id for $words in the language $language: $why', ({ language, words, id }) => {
    expect(lookUp(words, language || undefined)).toMatchObject({ match: true, id });
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
    const answers = categoryWords.map(({ words, language, category }) => ({
      ids: category.split('|'),
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
  for (const name of ['categories.gz', 'categories-en.gz']) await copyFile(join(dataFolder, name), join(folder, name));
  expect(loadCategoryNames(folder)('cafe')).toMatchObject({ id: 'amenity/cafe' });
  expect(() => loadCategoryNames(folder)('xyzzy')).toThrow(/the embedded data "categories-\w\w" cannot be read/);
  await rm(folder, { recursive: true });
  expect(loadCategoryNames(folder)('bakery')).toMatchObject({ id: 'shop/bakery' });
});
