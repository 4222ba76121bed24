import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadCategories } from '../../../src/io/lookups/categories/categories.ts';
import type { CategoryWords } from '../../../src/io/lookups/categories/category-data.ts';
import { readDataNow } from '../../../src/io/lookups/data.ts';
import { dataFolder } from '../../helpers/data-folder.ts';

const find = loadCategories(dataFolder);

/** Everyday words with their language and their categories. They were written before the search was changed; those at the end were never looked at. */
const everyday = readFileSync(new URL('everyday-categories.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split(',') as [words: string, language: string, ids: string]);

describe('of 222 everyday words in eight languages, many of them plurals', () => {
  test.each([[true], [false]])(
    '19 of 20 have the right category first, and nearly all have it among the candidates (language given: %s)',
    (isGiven) => {
      const answers = everyday.map(([words, language, ids]) => ({
        ids: ids.split('|'),
        answer: find({ words, language: isGiven ? language : undefined, minScore: 0.7 }),
      }));
      const first = answers.filter(({ ids, answer }) => ids.includes(String(answer.id)));
      const among = answers.filter(({ ids, answer }) => (answer.candidates as { id: string }[]).some(({ id }) => ids.includes(id)));
      expect(everyday).toHaveLength(222);
      expect(first.length).toBeGreaterThanOrEqual(211);
      expect(among.length).toBeGreaterThanOrEqual(215);
    },
  );
});

/** The regular plural of a word. */
const plurals: Readonly<Record<string, (word: string) => string>> = {
  en: (word) => (/(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`),
  es: (word) => (/[aeiouáéó]$/.test(word) ? `${word}s` : `${word.replace(/ó(?=n$)/, 'o')}es`),
  fr: (word) => (/[sxz]$/.test(word) ? word : /al$/.test(word) ? `${word.slice(0, -2)}aux` : /eau$/.test(word) ? `${word}x` : `${word}s`),
  it: (word) => (/[cg]a$/.test(word) ? `${word.slice(0, -1)}he` : word.replace(/a$/, 'E').replace(/[oe]$/, 'i').replace('E', 'e')),
  nl: (word) => (/(?:[aeiou]n|e[lr]|em|ar|[aeou])$/.test(word) ? `${word}s` : `${word}en`),
};

describe('the regular plural of the name of a category', () => {
  test.each(Object.keys(plurals))('means the same category as the name in 97 of 100 (%s)', (language) => {
    const pluralOf = plurals[language] as (word: string) => string;
    const names = readDataNow<CategoryWords[]>(dataFolder, `categories-${language}`)
      .map((words) => (words === 0 ? '' : words[0]))
      .filter((name) => /^\p{L}+(?: \p{L}+)?$/u.test(name));
    const idOf = (words: string) => find({ words, language, minScore: 0.7 }).id;
    const same = names.filter(
      (name) => idOf(name) === idOf(name.replace(language === 'en' || language === 'nl' ? /\p{L}+$/u : /\p{L}+/gu, pluralOf)),
    );
    expect(names.length).toBeGreaterThan(400);
    expect(same.length).toBeGreaterThanOrEqual(names.length * 0.97);
  });
});
