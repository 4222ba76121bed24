import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';

const flow = `nodes:
  - type: join
    file: owners.csv
    on: { domain: website }
    many: all
    map: [owner]
`;

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
  const place = await workplace({ 'flow.yaml': flow, 'leads.csv': 'domain\na\nb\n', 'owners.csv': 'website,owner\na,Ann\n' });
  mkdirSync(place.path('tmp'));
  const args = ['run', 'flow.yaml', '--in', 'leads.csv', '--out', 'out.csv', '--workers', '2'];
  const { code, stderr } = await place.automate(args, { env: { TMPDIR: place.path('tmp') } });
  expect([code, stderr]).toEqual([0, expect.stringContaining('join-1: 1 of 2 found in owners.csv')]);
  expect(await place.read('out.csv')).toBe('domain,owner\na,Ann\nb,\n');
  expect(readdirSync(place.path('tmp'))).toEqual([]);
});

/** Starts a run with workers whose only request is never answered. `asked` resolves when the request has arrived. */
async function hangingRun() {
  let arrived: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const { origin } = await httpServer(() => arrived());
  const text = `${flow}  - { type: http, url: "${origin}/{{owner}}" }\n`;
  const place = await workplace({ 'flow.yaml': text, 'leads.csv': 'domain\na\n', 'owners.csv': 'website,owner\na,Ann\n' });
  mkdirSync(place.path('tmp'));
  const databases = () => readdirSync(place.path('tmp')).filter((name) => name.startsWith('automate-join-'));
  const args = ['run', 'flow.yaml', '--in', 'leads.csv', '--out', 'out.csv', '--workers', '2'];
  return { place, asked, databases, start: () => place.start(args, { env: { TMPDIR: place.path('tmp') } }) };
}

test.each(['SIGTERM', 'SIGKILL'] as const)('the database goes when a run with workers gets %s', { timeout: 120_000 }, async (signal) => {
  const { asked, databases, start } = await hangingRun();
  const { child, finished } = start();
  await asked;
  expect(databases()).toHaveLength(1);
  child.kill(signal);
  // The second signal does not wait for the request.
  if (signal === 'SIGTERM') child.kill(signal);
  await finished;
  await vi.waitUntil(() => databases().length === 0, { timeout: 60_000 });
});

test('a database that a killed process has left behind goes when the next one is made', { timeout: 120_000 }, async () => {
  const { place, asked, databases, start } = await hangingRun();
  const left = (name: string, owner: object) => {
    mkdirSync(place.path(`tmp/automate-join-${name}`));
    writeFileSync(place.path(`tmp/automate-join-${name}/owner`), JSON.stringify(owner));
  };
  left('dead', { pid: process.pid, born: 'long ago' });
  left('elsewhere', { pid: 1, born: '', where: 'another machine' });
  const { child, finished } = start();
  await asked;
  expect(databases()).not.toContain('automate-join-dead');
  expect(databases()).toContain('automate-join-elsewhere');
  child.kill('SIGKILL');
  await finished;
});
