import { describe, expect, test } from 'vitest';
import type { LookupRequest, Lookups } from '../../src/core/lookup.ts';
import { readData } from '../../src/places/data/data.ts';
import { categoryLanguages, type LookupDocument } from '../../src/places/lookup.ts';
import { dataFolder } from '../helpers/data-folder.ts';
import { flowProblems, onOneLine, planFor } from '../helpers/flow-problems.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

/** Creates lookups that know the chains Acme and Twin (an ambiguous name) and record the queries. */
function acmeLookups(): Lookups & { readonly asked: LookupRequest[] } {
  const asked: LookupRequest[] = [];
  return {
    asked,
    find(request) {
      asked.push(request);
      const name = 'name' in request.query ? String(request.query.name) : '';
      const match = name === 'Acme' || name === 'Twin';
      const found = match ? { name, id: 'Q1', category: 'shop/acme', score: 1 } : { name: null, id: null, category: null, score: null };
      const isTwin = name === 'Twin';
      const body: LookupDocument = { query: name, match, ambiguous: isTwin, doubt: isTwin ? 'ambiguous' : null, ...found, candidates: [] };
      return { kind: 'lookup', body };
    },
  };
}

const flow = (options = '') => `nodes: [{ type: places, lookup: chain, name: "{{name}}"${options} }]`;

/** Runs a flow that looks up a chain for each name. */
async function lookUp(names: readonly unknown[], options = '', more: FlowOptions = {}) {
  const lookups = acmeLookups();
  const result = await runFlow(
    flow(options),
    names.map((name) => ({ name })),
    { lookups, ...more },
  );
  return { ...result, asked: lookups.asked, lookedUp: result.events.filter(({ type }) => type === 'looked-up') };
}

const found = { chain_name: 'Acme', chain_id: 'Q1', chain_category: 'shop/acme', chain_score: 1, chain_doubt: null };
const empty = { chain_name: null, chain_id: null, chain_category: null, chain_score: null, chain_doubt: null };

describe('a lookup node with embedded data', () => {
  test('adds the default fields, and costs one credit', async () => {
    const { rows, credits, requests, asked } = await lookUp(['Acme']);
    expect(rows).toEqual([{ name: 'Acme', ...found }]);
    expect({ credits, requests }).toEqual({ credits: 1, requests: [] });
    expect(asked).toEqual([{ kind: 'lookup', lookup: 'chain', query: { name: 'Acme', minScore: 0.85 } }]);
  });

  test('adds only the fields of the map if there is one', async () => {
    const { rows, events } = await lookUp(['Acme', 'Joe'], ', map: { qid: id, ok: match }');
    expect(rows).toEqual([
      { name: 'Acme', qid: 'Q1', ok: true },
      { name: 'Joe', qid: null, ok: false },
    ]);
    expect(events.flatMap((event) => (event.type === 'mapped' ? [event.found] : []))).toEqual([
      [true, true],
      [false, true],
    ]);
  });

  test.each([[''], ['  \t '], [null]])('looks nothing up, at no cost, if the name is %j', async (name) => {
    const { rows, credits, asked, lookedUp } = await lookUp([name]);
    expect(rows).toEqual([{ name, ...empty }]);
    expect({ credits, asked, lookedUp }).toEqual({ credits: 0, asked: [], lookedUp: [] });
  });

  test('names the most similar candidate in the message if it rejects a record', async () => {
    const body: LookupDocument = { query: 'Acm', match: false, ambiguous: false, candidates: [{ name: 'Acme', score: 0.7 }] };
    const { failures } = await lookUp(['Acm'], ', no_match: reject', { lookups: { find: () => ({ kind: 'lookup', body }) } });
    expect(failures).toMatchObject([{ message: 'no chain fits "Acm"; the nearest is "Acme" (0.70, below min_score 0.85)' }]);
  });

  test('leaves the fields empty if there is no match', async () => {
    const { rows, failures, credits } = await lookUp(['Joe']);
    expect({ rows, failures, credits }).toEqual({ rows: [{ name: 'Joe', ...empty }], failures: [], credits: 1 });
  });

  test('fails the record if there is no match and no_match is "reject"', async () => {
    const { rows, failures, credits, lookedUp, events } = await lookUp(['Joe', 'Acme'], ', no_match: reject');
    expect(rows).toEqual([{ name: 'Acme', ...found }]);
    expect(failures).toMatchObject([{ record: 1, class: 'answer', message: 'no chain fits "Joe"', attempts: 1 }]);
    expect(credits).toBe(2);
    expect(lookedUp).toMatchObject([{ match: true }, { match: false }].reverse());
    expect(events).toContainEqual({ type: 'call-failed', record: 1, node: 'places-1', attempts: 1 });
  });

  test('reports each result, and whether the result is ambiguous', async () => {
    const { lookedUp, events } = await lookUp(['Twin', 'Joe']);
    const sources = ['name-suggestion-index'];
    expect(lookedUp).toEqual([
      { type: 'looked-up', record: 1, node: 'places-1', lookup: 'chain', match: true, ambiguous: 'Twin', sources },
      { type: 'looked-up', record: 2, node: 'places-1', lookup: 'chain', match: false, sources },
    ]);
    expect(events.filter(({ type }) => type === 'call-done')).toMatchObject([
      { record: 1, node: 'places-1', attempts: 1 },
      { record: 2, node: 'places-1', attempts: 1 },
    ]);
  });

  test('stops looking up names when the credits are used up', async () => {
    const { rows, ending, credits } = await lookUp(['Acme', 'Joe', 'Twin'], '', { credits: 2 });
    expect({ rows: rows.length, ending, credits }).toEqual({ rows: 2, ending: 'max-credits', credits: 2 });
  });

  test('fails a record whose name is longer than 500 characters, at no cost', async () => {
    const { failures, credits, asked } = await lookUp(['x'.repeat(10_240)]);
    expect(failures).toMatchObject([{ class: 'request', message: 'expected a name of at most 500 characters, found 10,240 characters' }]);
    expect({ credits, asked }).toEqual({ credits: 0, asked: [] });
  });

  test('ignores an unknown country, and reports the country', async () => {
    const { rows, failures, asked, lookedUp } = await lookUp(['Acme'], ', country: " Narnia{{name}}"');
    expect({ rows, failures }).toEqual({ rows: [{ name: 'Acme', ...found }], failures: [] });
    expect(asked.map(({ query }) => query)).toEqual([{ name: 'Acme', minScore: 0.85 }]);
    expect(lookedUp).toMatchObject([{ unknownCountry: 'NarniaAcme' }]);
  });

  test('reports an unknown country even if there is no match, but never a blank country', async () => {
    const records = ['n/a', ' ', 'Sverige'].map((land) => ({ name: 'Joe', land }));
    const { events } = await runFlow(flow(', country: "{{land}}", no_match: reject'), records, { lookups: acmeLookups() });
    expect(events.flatMap((event) => (event.type === 'looked-up' ? [event.unknownCountry] : []))).toEqual(['n/a', undefined, undefined]);
  });

  test.each([
    ['"de"', 'DE'],
    ['" Uk "', 'GB'],
    ['"deu"', 'DE'],
    ['"Germany"', 'DE'],
    ['"Allemagne"', 'DE'],
    ['"Estados Unidos"', 'US'],
    ['"U.S.A."', 'US'],
    ['"Österreich"', 'AT'],
    ['"日本"', 'JP'],
    ['"n/a"', undefined],
    ['" "', undefined],
  ])('accepts %s as a country: %s', async (written, country) => {
    const { asked } = await lookUp(['Acme'], `, country: "{{code}}"`, {}).catch(() => ({ asked: [] }));
    expect(asked).toEqual([]);
    const lookups = acmeLookups();
    await runFlow(flow(', country: "{{code}}"'), [{ name: 'Acme', code: JSON.parse(written) }], { lookups });
    expect(lookups.asked[0]?.query).toEqual({ name: 'Acme', country, minScore: 0.85 });
  });

  test('processes thousands of records without waiting for the event loop after each record', async () => {
    const { rows, waitedMs } = await lookUp(Array.from({ length: 5000 }, () => 'Acme'));
    expect({ rows: rows.length, waitedMs }).toEqual({ rows: 5000, waitedMs: 0 });
  });

  test('waits until the data has been loaded', async () => {
    const lookups = acmeLookups();
    const late: Lookups = { find: async (request) => lookups.find(request) };
    expect((await lookUp(['Acme'], '', { lookups: late })).rows).toEqual([{ name: 'Acme', ...found }]);
  });
});

describe('the check of a lookup node with embedded data', () => {
  const problems = (options: string) => flowProblems(`nodes:\n  - { type: places, ${options} }\n`).map(onOneLine);

  test.each([
    ['lookup: chain', '2:29 lookup: chain needs the option "name"'],
    ['lookup: category', '2:29 lookup: category needs the option "words"'],
    ['lookup: chain, name: a, words: b', '2:52 "words" is an option of lookup: category, not of lookup: chain'],
    ['lookup: chain, name: a, min_score: 0.4', '2:56 expected a score from 0.5 to 1'],
    ['lookup: category, words: a, language: xx', '2:59 expected a language such as de, found "xx"'],
    ['lookup: chain, name: a, country: XX', '2:54 expected a country code such as DE, or a name such as Germany, found "XX"'],
    ['lookup: chain, name: a, no_match: drop', '2:55 expected keep or reject, found "drop"'],
  ])('refuses the options %s', (options, problem) => {
    expect(problems(options)).toContain(problem);
  });

  test('accepts a language with a region', () => {
    expect(problems('lookup: category, words: a, language: de-AT')).toEqual([]);
  });

  test('refuses an unknown language, and lists the available languages', async () => {
    const { languages } = await readData<{ languages: string[] }>(dataFolder, 'categories');
    expect(categoryLanguages).toEqual([...languages].sort());
  });

  test('refuses a connection, because no server is used', () => {
    const flow = `connections: { own: { type: http, base_url: "https://example.com" } }
nodes: [{ type: places, lookup: chain, name: a, connection: own }]`;
    expect(flowProblems(flow).map(onOneLine)).toEqual(['2:61 lookup: chain uses data on this machine, not a server']);
  });

  test('warns about a rate, which has no effect', () => {
    const plan = planFor('nodes: [{ type: places, lookup: chain, name: a, rate: 5/s }]');
    expect(plan.warnings().map(({ message }) => message)).toEqual(['lookup: chain uses data on this machine: rate has no effect']);
  });
});
