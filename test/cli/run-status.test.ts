import { expect, test } from 'vitest';
import { addToTally, createTally } from '../../src/report/tally.ts';
import { openCount } from '../../src/run/metrics.ts';
import type { OpenRun } from '../../src/run/run-request.ts';

test('records that a filter has dropped are not reported as unfinished', () => {
  const tally = createTally();
  addToTally(tally, { type: 'record-filtered', record: 1 });
  addToTally(tally, { type: 'record-done', record: 2, rows: 3 });
  addToTally(tally, { type: 'record-unchanged', record: 3, rows: 0, isFiltered: true });
  const reading = { records: 5, bytesBefore: 0, isComplete: false };
  expect(openCount({ progress: { tally, reading } } as OpenRun)).toBe(2);
});
