import { describe, expect, test } from 'vitest';
import { readCredits, workplace } from '../helpers/cli.ts';

const places = async (...args: string[]) => (await workplace()).automate(['places', ...args]);

describe('automate places chains', () => {
  test('prints a table of chains that a name might refer to, without spending credits', async () => {
    const place = await workplace();
    expect(await place.automate(['places', 'chains', 'target', '--limit', '2'])).toEqual({
      code: 0,
      stdout: `name    id        category               countries  score
Target  Q1046951  shop/department_store  US         1.00
Target  Q7685854  shop/department_store  AU         1.00
`,
      stderr: 'match: exact, 1.00 is at least min_score 0.85\ndoubt: ambiguous\n',
    });
    expect((await readCredits(place)).spent).toBe(0);
  });

  test('says so if a run would match none of the listed chains', async () => {
    expect((await places('chains', 'Petco Animal Supplies')).stderr).toBe('no match: start, 0.70 is below min_score 0.85\n');
  });

  test('accepts several words, a country and a category', async () => {
    expect((await places('chains', '7', 'eleven', '--country', 'jp')).stdout).toMatch(
      /^7-Eleven +Q259340 +shop\/convenience +worldwide +0\.98$/m,
    );
    expect((await places('chains', 'target', '--country', 'Australia')).stdout.split('\n')[1]).toContain('Q7685854');
    expect((await places('chains', 'walmart', '--category', 'gas station')).stdout.split('\n')[1]).toContain('Q62606411');
  });

  test('shortens a long list of countries, and aligns columns with double-width characters', async () => {
    const { stdout } = await places('chains', 'ファミリーマート');
    expect(stdout.split('\n')[1]).toBe('FamilyMart  Q11247682  shop/convenience  CN ID JP MY PH TH +1  1.00');
    expect((await places('categories', 'コンビニ', '--language', 'ja')).stdout.split('\n').slice(0, 2)).toEqual([
      'id                   name                  other words',
      'shop/convenience     コンビニエンスストア  コンビニ, 買い物',
    ]);
  });

  test('prints JSON', async () => {
    const { stdout } = await places('chains', 'target', '--country', 'AU', '--limit', '1', '--json');
    expect(JSON.parse(stdout)).toEqual([
      { name: 'Target', id: 'Q7685854', category: 'shop/department_store', countries: ['AU'], score: 1, method: 'exact' },
    ]);
  });

  test('exits with 4 and prints one line if nothing is found', async () => {
    expect(await places('chains', 'zzqxy')).toEqual({ code: 4, stdout: '', stderr: 'no chain fits "zzqxy"\n' });
    expect(await places('chains', 'zzqxy', '--json')).toEqual({ code: 4, stdout: '[]\n', stderr: 'no chain fits "zzqxy"\n' });
  });

  test.each([
    [['chains'], "missing required argument 'words'"],
    [['chains', ' '], 'expected a name, found " "'],
    [['categories', ''], 'expected words, found ""'],
    [['categories', 'a', '--language', 'xx'], '--language: expected a language such as de, found "xx"'],
    [['chains', 'a', '--limit', '0'], '--limit'],
    [['chains', 'a', '--country', 'Narnia'], '--country: expected a country code such as DE, or a name such as Germany, found "Narnia"'],
    [['chains', 'a', '--category', 'spa'], 'choose one of shop/beauty, leisure/hot_tub'],
    [['chains', 'a', '--category', 'xyzzy'], '--category: no category is called "xyzzy"'],
    [['shops', 'a'], "unknown command 'shops'"],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await places(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('automate places categories', () => {
  test('prints a table of categories that the words might refer to', async () => {
    expect((await places('categories', 'Apotheke', '--language', 'de')).stdout.split('\n').slice(0, 2)).toEqual([
      'id                           name          other words',
      'amenity/pharmacy             Apotheke',
    ]);
  });

  test('lists all categories if there are no words', async () => {
    const { stdout } = await places('categories', '--json');
    const all = JSON.parse(stdout) as { id: string }[];
    expect(all.length).toBeGreaterThan(900);
    expect(all.find(({ id }) => id === 'amenity/cafe')).toEqual({
      id: 'amenity/cafe',
      name: 'Cafe',
      tags: { amenity: 'cafe' },
      words: expect.arrayContaining(['coffee']),
    });
  });

  test('exits with 4 and prints one line if nothing is found', async () => {
    expect(await places('categories', 'xyzzy')).toEqual({ code: 4, stdout: '', stderr: 'no category fits "xyzzy"\n' });
  });
});
