import { readFile } from 'node:fs/promises';
import { readXlsx } from 'hucre/xlsx';
import { expect, test } from 'vitest';
import { askedServer, idsTo } from '../helpers/asking.ts';
import { count, killed, leftBehind, placeFor } from '../helpers/resuming.ts';
import { textBook } from '../helpers/workbook.ts';

const rows = () =>
  textBook([['id', 'note'], ...idsTo(count).flatMap((id) => [[String(id), `note ${id}`], ...(id % 50 === 0 ? [[]] : [])])]);

test('a run over a workbook resumes after its last finished record, even if it is killed several times', async () => {
  const server = await askedServer(1);
  const place = await placeFor(server);
  await place.write('rows.xlsx', await rows());
  const run = ['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.csv'];
  expect((await place.automate([...run.slice(0, -1), 'whole.csv'])).code).toBe(4);
  server.forget();
  for (const calls of [100, 300, 200]) expect(await killed(place, server, calls, [...run, '--resume'])).toBe(true);
  expect((await place.automate([...run, '--resume'])).code).toBe(4);
  expect(await place.read('out.csv')).toBe(await place.read('whole.csv'));
  expect(await leftBehind(place)).toEqual([]);
});

test('a run that reads one sheet cannot be resumed with a different sheet', async () => {
  const server = await askedServer(1);
  const place = await placeFor(server);
  await place.write('rows.xlsx', await rows());
  const run = ['run', 'flow.yaml', '--in', 'rows.xlsx', '--out', 'out.csv', '--resume'];
  expect(await killed(place, server, 200, run)).toBe(true);
  const { code, stderr } = await place.automate([...run, '--sheet', 'rows']);
  expect([code, stderr]).toEqual([73, expect.stringContaining('the way the input is read: sheet was not set, is "rows"')]);
});

test('a run that is killed while it writes a workbook leaves only the old workbook', async () => {
  const server = await askedServer(1);
  const place = await placeFor(server);
  await place.write('out.xlsx', 'old output');
  const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.xlsx', '--replace'];
  expect(await killed(place, server, 500, run)).toBe(true);
  expect(await place.read('out.xlsx')).toBe('old output');
  const { code } = await place.automate(run);
  expect([code, await leftBehind(place)]).toEqual([4, []]);
  expect((await readFile(place.path('out.xlsx'))).toString('latin1', 0, 2)).toBe('PK');

  const fresh = [...run.slice(0, -2), 'new.xlsx'];
  expect(await killed(place, server, 500, fresh)).toBe(true);
  expect(await place.files()).not.toContain('new.xlsx');
});

test('a run that writes a workbook saves the finished records when it receives a signal', async () => {
  const server = await askedServer(1);
  const place = await placeFor(server);
  const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.xlsx']);
  server.after(300, () => child.kill('SIGINT'));
  const { code, stderr } = await finished;
  expect([code, stderr]).toEqual([130, expect.stringMatching(/--skip \d+ --out out\.rest\.xlsx/)]);
  const { sheets } = await readXlsx(await readFile(place.path('out.xlsx')));
  expect(sheets[0]?.rows.length).toBeGreaterThan(200);
});
