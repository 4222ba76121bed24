import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newRunId, readRuns } from '../../src/serve/runs/run-folder.ts';
import { noCounts, noTotals, processingOptions } from '../../src/serve/runs/stored-run.ts';
import { serverHome } from '../helpers/server-keys.ts';

const at = '2026-11-25T10:00:00.000Z';
const right = {
  ...{ flow: 'ask', key: null, options: {}, inputFormat: 'csv.gz', format: 'csv', bytes: 3, createdAt: at, startedAt: at, endedAt: at },
  ...{ state: 'finished', ending: 'complete', exitCode: 0, reason: null, isWaiting: false, resumable: false, crashes: 0, parts: 1 },
  ...{ retryOf: null, counts: noCounts, totals: noTotals, counted: { records: 0, credits: 0 } },
};

test.each<[string, object]>([
  ['totals', {}],
  ['endedAt', { endedAt: 'never' }],
  ['format', { format: 'x/../../../etc/passwd' }],
  ['inputFormat', { inputFormat: '../../etc/passwd' }],
  ['flow', { flow: 'a\r\nb' }],
  ['state', { state: 'odd' }],
])('a run whose run.json has an invalid member %s is ignored, but not deleted', async (name, change) => {
  const runs = serverHome();
  const [id, odd] = [newRunId(), newRunId()];
  const write = (run: string, content: object) => {
    mkdirSync(join(runs, run));
    writeFileSync(join(runs, run, 'run.json'), JSON.stringify({ id: run, ...content }));
  };
  write(id, right);
  write(odd, { ...right, ...(name === 'totals' ? { totals: {} } : change) });
  const said: string[] = [];
  for (let round = 0; round < 2; round++) expect((await readRuns(runs, (text) => said.push(text))).map((run) => run.id)).toEqual([id]);
  expect(said).toEqual([odd, odd].map((run) => `${run} is left out: its run.json cannot be read`));
});

test('a retry leaves out how the body of its run was read', () => {
  const reading = {
    delimiter: ';',
    sheet: 'Rows',
    headerLine: 4,
    noHeader: false,
    ragged: true,
    escape: '^',
    trim: true,
    encoding: 'latin1',
    records: 'data',
    skip: 1,
    limit: 2,
  };
  expect(processingOptions({ ...reading, unordered: true, maxErrors: { count: 3 } })).toEqual({ unordered: true, maxErrors: { count: 3 } });
});
