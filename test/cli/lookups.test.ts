import { describe, expect, test } from 'vitest';
import { readCredits, workplace } from '../helpers/cli.ts';

const flow = 'nodes: [{ type: places, lookup: chain, name: "{{company}}" }]\n';

const place = (csv = 'company\nREWE\n"  "\nzzqxy\n') => workplace({ 'flow.yaml': flow, 'in.csv': csv });

const source = 'name-suggestion-index, BSD 3-Clause, Copyright 2026, name-suggestion-index contributors';

describe('a run with an embedded lookup', () => {
  test('shows the number of matches and the data source at the end of the summary', async () => {
    const here = await place();
    const { code, stderr } = await here.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--summary', 'summary.json']);
    expect(code).toBe(0);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toContain('  chain: matched 1 of 2');
    expect(lines.at(-1)).toBe(`  data: ${source} (2026-09-18)`);
    expect(await here.read('out.csv')).toBe(
      'company,chain_name,chain_id,chain_category,chain_score,chain_doubt\nREWE,Rewe,Q16968817,shop/supermarket,1,\n  ,,,,,\nzzqxy,,,,,\n',
    );
    expect(JSON.parse(await here.read('summary.json'))).toMatchObject({
      credits: 2,
      lookups: [{ lookup: 'chain', node: 'places-1', of: 2, matched: 1, ambiguous: 0, first_ambiguous: null }],
      attributions: [
        {
          source: 'name-suggestion-index',
          text: source,
          licence: 'BSD-3-Clause',
          url: 'https://github.com/osmlab/name-suggestion-index',
          date: '2026-09-18',
        },
      ],
    });
    expect((await readCredits(here)).spent).toBe(2);
  });

  test('counts ambiguous names and unknown countries, and quotes an example of each', async () => {
    const here = await workplace({
      'flow.yaml': flow.replace(' }]', ', country: "{{land}}" }]'),
      'in.csv': 'company,land\nTarget,\nstarbuks,USA\nRosmann,Narnia\nWallmart,n/a\nREWE,Germany\n',
    });
    const { stderr } = await here.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--summary', 'summary.json']);
    const [line = ''] = /chain: .*/.exec(stderr) ?? [];
    expect(line.replace(/(?<=such as ")[^"]+/g, 'X')).toBe(
      'chain: matched 5 of 5, ambiguous: 2, such as "X", other doubts: 2, such as "X", country not known: 2, such as "X"',
    );
    const doubts = (await here.read('out.csv'))
      .trimEnd()
      .split('\n')
      .map((line) => line.split(',').at(-1));
    expect(doubts).toEqual(['chain_doubt', 'ambiguous', 'misspelt', 'misspelt', 'ambiguous; misspelt', '']);
    expect(JSON.parse(await here.read('summary.json'))).toMatchObject({
      lookups: [
        {
          ...{ ambiguous: 2, other_doubts: 2, unknown_countries: 2 },
          first_other_doubt: expect.stringMatching(/^(?:starbuks|Rosmann)$/),
          first_unknown_country: expect.stringMatching(/^(?:Narnia|n\/a)$/),
        },
      ],
    });
  });

  test('costs nothing if the node has credits: 0', async () => {
    const here = await place();
    await here.write('flow.yaml', flow.replace('name:', 'credits: 0, name:'));
    expect((await here.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'])).code).toBe(0);
    expect((await readCredits(here)).spent).toBe(0);
  });

  test('stops at --max-credits and can be resumed', async () => {
    const here = await place('company\nREWE\nzzqxy\nALDI\n');
    const run = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'];
    expect((await here.automate([...run, '--max-credits', '2'])).code).toBe(5);
    expect((await here.automate([...run, '--resume'])).code).toBe(0);
    expect((await here.read('out.csv')).split('\n').map((line) => line.split(',')[0])).toEqual(['company', 'REWE', 'zzqxy', 'ALDI', '']);
    expect((await readCredits(here)).spent).toBe(3);
  });

  test('shows no data source if nothing was looked up', async () => {
    const here = await place('company\n" "\n');
    const { stderr } = await here.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--summary', 'summary.json']);
    expect(stderr).not.toContain('data:');
    expect(JSON.parse(await here.read('summary.json'))).not.toHaveProperty('attributions');
  });

  test('plans no call for a blank name in a dry run', async () => {
    const { stdout } = await (await place()).automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--dry-run']);
    expect(stdout).toMatch(/^actions: +2\ncredits: +2\nrequests: +the first 2\n {2}embedded data\n {2}lookup: chain\n {2}name: REWE\n/m);
    expect(stdout).not.toContain('time:');
  });

  test('reads a data file only if a lookup needs it, and only once', async () => {
    const here = await place();
    await here.write(
      'note-reads.cjs',
      `const fs = require('node:fs/promises'), read = fs.readFile;
      fs.readFile = (path, ...more) => {
        if (/\\.gz$/.test(path)) require('node:fs').appendFileSync('reads.txt', String(path).split('/').at(-1) + '\\n');
        return read(path, ...more);
      };`,
    );
    const start = (...args: string[]) => here.start(args, { node: ['--require', here.path('note-reads.cjs')] }).finished;
    await here.write('set.yaml', 'nodes: [{ type: set, fields: { b: "{{company}}" } }]\n');
    expect((await start('run', 'set.yaml', '--in', 'in.csv', '--out', 'set.csv')).code).toBe(0);
    expect(await here.files()).not.toContain('reads.txt');
    expect((await start('run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv')).code).toBe(0);
    expect(await here.read('reads.txt')).toBe('chains.gz\nnotices.gz\n');
  });

  test('exits with 6 and says what to do if the data file cannot be read', async () => {
    const here = await place();
    await here.write(
      'no-data.cjs',
      `
      const fs = require('node:fs/promises'), read = fs.readFile;
      fs.readFile = (path, ...more) => (String(path).endsWith('chains.gz') ? Promise.resolve(Buffer.from('x')) : read(path, ...more));
    `,
    );
    const { code, stderr } = await here.start(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'], {
      node: ['--require', here.path('no-data.cjs')],
    }).finished;
    expect(code).toBe(6);
    expect(stderr).toContain('the embedded data "chains" cannot be read');
    expect(stderr).toContain('install automate again');
  });
});

describe('test-request of a node with an embedded lookup', () => {
  test('shows the result from the embedded data instead of a request', async () => {
    const { code, stdout, stderr } = await (await place()).automate(['test-request', 'flow.yaml', '--in', 'in.csv']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^embedded data\nlookup: chain\nname: REWE\nmin_score: 0\.85\n\nanswered in [\d.]+ m?s\n/);
    expect(stdout).toMatch(/^id +string +"Q16968817"$/m);
    expect(stdout).toMatch(/^ {4}chain_id +Q16968817$/m);
  });

  test('says so if nothing would be looked up', async () => {
    const { code, stderr } = await (await place()).automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--record', '2']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'a run sends no request for this record: there is nothing to look up\n',
    });
  });

  test('prints the result as JSON', async () => {
    const { stdout } = await (await place()).automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      request: { source: 'embedded data', lookup: 'chain', query: { name: 'REWE', min_score: 0.85 } },
      response: { body: { match: true, id: 'Q16968817' } },
      failure: null,
    });
  });

  test('refuses --curl', async () => {
    const { code, stderr } = await (await place()).automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--curl']);
    expect(code).toBe(2);
    expect(stderr).toContain('--curl shows HTTP requests; "places-1" is answered by embedded data, and sends nothing');
  });
});

test('automate notices prints every data source with its date and licence', async () => {
  const { code, stdout } = await (await place()).automate(['notices']);
  expect(code).toBe(0);
  expect(stdout).toContain('name-suggestion-index 8.0.20260918, data of 2026-09-18\n');
  expect(stdout).toContain('Redistribution and use in source and binary forms');
  expect(stdout).toContain('@openstreetmap/id-tagging-schema 6.19.2, data of 2026-07-08\n');
  expect(stdout).toContain('Copyright (c) iD Contributors');
  expect(stdout).toContain('© OpenStreetMap contributors, ODbL 1.0, https://www.openstreetmap.org/copyright');
  expect(stdout).toContain('This product uses the Census Bureau Data API but is not endorsed or certified by the Census Bureau.');
});

test.each([['places', 'lookup: chain | category | points, required']])('automate nodes %s explains the node type', async (type, text) => {
  expect((await (await place()).automate(['nodes', type])).stdout).toContain(text);
});
