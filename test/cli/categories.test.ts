import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const flow = (category: string) => `nodes:
  - type: places
    lookup: chain
    name: "{{company}}"
    category: ${category}
`;

/** Returns the result of `automate validate` for a flow with this category. */
async function validate(category: string) {
  const place = await workplace({ 'flow.yaml': flow(category) });
  return place.automate(['validate', 'flow.yaml']);
}

describe('a category in a flow', () => {
  test.each([
    ['pharmacy', 'category "pharmacy" is amenity/pharmacy\n'],
    ['Tankstelle', 'category "Tankstelle" is amenity/fuel\n'],
    ['amenity/fuel', ''],
  ])('can be written as "%s"', async (words, note) => {
    expect(await validate(words)).toEqual({ code: 0, stdout: `${note}flow.yaml is valid: 1 node\n`, stderr: '' });
  });

  test.each([
    ['station', 'the category "station" can mean railway/station, aerialway/station', 'write the id of one of them'],
    ['shop', 'the category "shop" can mean shop/yes, shop/supermarket', 'write the id of one of them'],
    ['spa', 'the category "spa" can mean shop/beauty, leisure/hot_tub', 'write the id of one of them'],
    ['xyzzy', 'no category is called "xyzzy"', 'find one: automate places categories WORDS'],
    ['supermrket', 'no category is called "supermrket"; similar ones are shop/supermarket, shop/supermarket/organic', 'find one:'],
    ['"{{kind}}"', 'expected one category for all records, found text with {{field}}', ''],
  ])('is refused, with its position in the flow, if it is unknown or ambiguous: %s', async (words, problem, wayOut) => {
    const { code, stderr } = await validate(words);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^flow\.yaml:5:15: /);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(wayOut);
  });

  test('decides between chains that have the same name', async () => {
    const place = await workplace({ 'flow.yaml': flow('gas station'), 'in.csv': 'company\nWalmart\n' });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'])).code).toBe(0);
    expect(await place.read('out.csv')).toContain('Walmart,Walmart,Q62606411,amenity/fuel,1,\n');
  });
});

test("a flow can find the category of each record, and the run's summary counts the matches", async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: places, lookup: category, words: "{{kind}}", language: "{{lang}}" }]\n',
    'in.csv': 'kind,lang\nApotheke,de\nxyzzy,\n,\n',
  });
  const { stderr } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv']);
  expect(stderr).toContain('  category: matched 1 of 2\n');
  expect(stderr).toContain('  data: id-tagging-schema, ISC, Copyright (c) iD Contributors (2026-07-08)\n');
  expect(await place.read('out.csv')).toBe(
    'kind,lang,category,category_name,category_score\nApotheke,de,amenity/pharmacy,Apotheke,1\nxyzzy,,,,\n,,,,\n',
  );
});
