import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const flow = `nodes:
  - type: join
    file: owners.csv
    on: { domain: website }
    many: all
    map: [owner]
`;

const temporary = () => readdirSync(tmpdir()).filter((name) => name.startsWith('automate-join-'));

test('many rows go to a database on disk, with the same result', { timeout: 300_000 }, async () => {
  const rows = (count: number) => Array.from({ length: count }, (_, row) => `${row}.example,Owner ${row}\n`).join('');
  const leads = 'domain\n7.example\n499999.example\nnone\n510000.example\n';
  const owners = `website,owner\n${rows(520_000)}7.example,Another\n`;
  const place = await workplace({ 'flow.yaml': flow, 'leads.csv': leads, 'owners.csv': owners });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'leads.csv', '--out', 'out.csv']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('join-1: 3 of 4 found in owners.csv')]);
  const found = '7.example,Owner 7\n7.example,Another\n499999.example,Owner 499999\nnone,\n510000.example,Owner 510000\n';
  expect(await place.read('out.csv')).toBe(`domain,owner\n${found}`);
});

test('worker processes read one database, which is removed at the end', { timeout: 120_000 }, async () => {
  const before = temporary();
  const place = await workplace({ 'flow.yaml': flow, 'leads.csv': 'domain\na\nb\n', 'owners.csv': 'website,owner\na,Ann\n' });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'leads.csv', '--out', 'out.csv', '--workers', '2']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('join-1: 1 of 2 found in owners.csv')]);
  expect(await place.read('out.csv')).toBe('domain,owner\na,Ann\nb,\n');
  expect(temporary().filter((name) => !before.includes(name))).toEqual([]);
});
