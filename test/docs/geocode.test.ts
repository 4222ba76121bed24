import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runFlow } from '../helpers/run-flow.ts';

const page = readFileSync(new URL('../../docs/geocode.md', import.meta.url), 'utf8');

/** Returns the rows of the table that follows a line of the page. Each row is a list of cell texts without backticks. */
function rowsAfter(start: string): string[][] {
  const [, section = ''] = page.split(`\n${start}\n`);
  const [table = ''] = /^\|.*(?:\n\|.*)*/m.exec(section) ?? [];
  return table
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

async function lookUp(address: string) {
  const map = '{ name: name, region: region, country: country_code, doubt: doubt, score: score }';
  const { rows } = await runFlow(`nodes: [{ type: geocode, address: "{{a}}", map: ${map} }]`, [{ a: address }]);
  return rows[0] as Readonly<Record<string, string | number | null>>;
}

const rules = rowsAfter('### How an address is read');
const scores = rowsAfter("`score` is 1 if the place's main name and all other words match. Otherwise the score is lower:");

test('the geocoding page has a table row for each rule and each score', () => {
  expect(rules.length).toBeGreaterThan(20);
  expect(scores.length).toBeGreaterThan(5);
});

test.each(rules)(
  'the address %s leads to the place "%s" with the doubt "%s", as the geocoding page says',
  async (address = '', place = '', doubt = '') => {
    const found = await lookUp(address);
    const parts = [found.name, found.region, found.country].filter((part) => part !== null);
    expect([parts.join(', ') || 'nothing', found.doubt ?? '']).toEqual([place, doubt]);
  },
);

test.each(scores)('the address %s has the score %s, as the geocoding page says', async (address = '', score = '') => {
  expect((await lookUp(address)).score).toBe(Number(score));
});
