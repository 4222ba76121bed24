import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadChains } from '../../../src/places/data/chains/chains.ts';
import type { ChainData } from '../../../src/places/data/chains/company-words.ts';
import { readDataNow } from '../../../src/places/data/data.ts';
import { dataFolder } from '../../helpers/data-folder.ts';
import { bankLines } from './bank-lines.ts';
import { noChainLines } from './no-chains.ts';
import { readTable } from './table.ts';

const find = await loadChains(dataFolder);
const lookUp = (name: string) => find({ name, minScore: 0.85 });

/** Irregular spellings of chains with the correct Wikidata ids. They were written before the matcher was changed. */
const dirty = readFileSync(new URL('dirty-chains.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [ids = '', names = ''] = line.split(': ');
    return names.split('; ').map((name) => ({ name, ids: ids.split('|') }));
  });

test('the chain lookup finds the right chain for at least 85 % of 210 irregular spellings worldwide, and a wrong chain for at most 3', () => {
  const answers = dirty.map(({ name, ids }) => ({ ids, found: lookUp(name) }));
  const matched = answers.filter(({ found }) => found.match);
  const right = matched.filter(({ ids, found }) => ids.includes(String(found.id)));
  expect(dirty).toHaveLength(210);
  expect(right.length).toBeGreaterThanOrEqual(179);
  expect(matched.length - right.length).toBeLessThanOrEqual(3);
});

/** Names as people write them in seven countries. The matcher was not changed after they were written, and for no single name. */
const written = readTable<'name' | 'country' | 'ids'>('chain-names.csv');

test('the chain lookup finds the right chain for at least 108 of 120 names that people write, and a wrong chain for at most 1', () => {
  const answers = written.map(({ name, country, ids }) => ({ ids: ids.split(' '), found: find({ name, country, minScore: 0.85 }) }));
  const matched = answers.filter(({ found }) => found.match);
  const right = matched.filter(({ ids, found }) => ids.includes(String(found.id)));
  expect(answers).toHaveLength(120);
  expect(right.length).toBeGreaterThanOrEqual(108);
  expect(matched.length - right.length).toBeLessThanOrEqual(1);
});

test.each([[7], [2026]])(
  'the chain lookup finds the right chain for at least 360 of 400 bank statement lines (seed %i), and a wrong chain for at most 2',
  (seed) => {
    const answers = bankLines(400, seed).map(({ line, id }) => ({ id, found: lookUp(line) }));
    expect(answers.filter(({ id, found }) => found.match && found.id === id).length).toBeGreaterThanOrEqual(360);
    expect(answers.filter(({ id, found }) => found.match && found.id !== id).length).toBeLessThanOrEqual(2);
  },
);

test('the chain lookup wrongly finds a chain for at most 5 of 116 names and lines without a chain', () => {
  expect(noChainLines).toHaveLength(116);
  expect(noChainLines.filter((line) => lookUp(line).match).length).toBeLessThanOrEqual(5);
});

describe('the lookup of the names in the chain data', () => {
  const { chains } = readDataNow<ChainData>(dataFolder, 'chains');

  test('returns 9 of 10 sub-brands under their own names', () => {
    const brands = chains.flatMap(([, , , , , , , others = []]) => others.map(([name]) => name));
    const named = brands.filter((name) => lookUp(name).name === name);
    expect(brands.length).toBeGreaterThan(300);
    expect(named.length).toBeGreaterThanOrEqual(brands.length * 0.9);
  });

  test('finds a chain for 98 of 100 names', () => {
    const names = chains.map(([name]) => name).filter((_, index) => index % 5 === 0);
    expect(names.filter((name) => lookUp(name).match).length).toBeGreaterThanOrEqual(names.length * 0.98);
  });
});
