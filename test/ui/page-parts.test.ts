import { describe, expect, test } from 'vitest';
import { durationText } from '../../src/core/duration.ts';
import { counted, formatCount } from '../../src/core/text/number.ts';
import type { RunShape } from '../../src/serve/shapes.ts';
import { bytesText, percent, rate } from '../../src/ui/figures.ts';
import { curlOfCall, curlOfRun } from '../../src/ui/page/docs-page.tsx';
import { inputHeaders } from '../../src/ui/page/flows/run-dialog.tsx';
import { requestText, timeText } from '../../src/ui/page/frame/feedback.tsx';
import { EventParser, withTotals } from '../../src/ui/page/runs/run-events.ts';
import { mappedRows, mapYaml, renamed, toggled } from '../../src/ui/page/test-request/map-panel.tsx';
import { ticksUpTo, timeTicks } from '../../src/ui/parts/chart.tsx';
import { runs } from './page-data.ts';
import { fullView } from './run-views.ts';

describe('a figure on the web page', () => {
  test('is formatted for people: counts, sizes, durations and rates', () => {
    expect([formatCount(9812), counted(1, 'record'), counted(2, 'record'), bytesText(812), bytesText(41_200_000)]).toEqual([
      ...['9,812', '1 record', '2 records', '812 B', '41.2 MB'],
    ]);
    expect([340, 999.6, 4200, 192_000, 300_000, 7_500_000].map(durationText)).toEqual([
      '340 ms',
      '1 s',
      '4.2 s',
      '3 min 12 s',
      '5 min',
      '2 h 5 min',
    ]);
    expect([0, 0.123, 9.87, 12.4, 1234].map(rate)).toEqual(['0', '0.12', '9.9', '12', '1,234']);
  });

  test('is 0 % only for nothing, and 100 % only for everything', () => {
    expect([percent(0, 9), percent(1, 1000), percent(999, 1000), percent(9, 9), percent(0, 0)]).toEqual([
      '0 %',
      'under 1 %',
      '99 %',
      '100 %',
      '0 %',
    ]);
  });

  test.each([
    [0, [0, 1]],
    [1, [0, 0.25, 0.5, 0.75, 1]],
    [9.8, [0, 2.5, 5, 7.5, 10]],
    [188, [0, 50, 100, 150, 200]],
    [1480, [0, 500, 1000, 1500]],
  ])('is shown with these axis labels if the maximum is %d: %j', (max, ticks) => expect(ticksUpTo(max)).toEqual(ticks));

  test('has axis labels in suitable units if it is a duration', () => {
    expect(timeTicks(62)).toEqual([0, 50]);
    expect(timeTicks(33_700)).toEqual([0, 10_000, 20_000, 30_000]);
    expect(timeTicks(3_600_000)).toEqual([0, 900_000, 1_800_000, 2_700_000, 3_600_000]);
    expect(timeTicks(100 * 86_400_000).length).toBeLessThanOrEqual(6);
  });
});

describe('the map editor on the web page', () => {
  const answer = {
    status: 200,
    headers: { etag: '"7"' },
    body: {
      user: { name: 'Ada', 'odd key': 1 },
      orders: [
        { sku: 'A1', lines: [{ n: 1 }, { n: 2 }] },
        { sku: 'B2', lines: [] },
      ],
    },
  };

  test('adds a path when the user clicks it, and removes the path at the second click', () => {
    const one = toggled({}, 'user.name');
    expect(one).toEqual({ name: 'user.name' });
    expect(toggled(one, 'plan.name')).toEqual({ name: 'user.name', name_2: 'plan.name' });
    expect(toggled(one, 'user.name')).toEqual({});
    expect(toggled({}, '$status')).toEqual({ status: '$status' });
    expect(toggled({}, 'list[]')).toEqual({ list: 'list[]' });
  });

  test('keeps the order of the fields when one is renamed, and refuses an existing name', () => {
    const map = { a: 'x', b: 'y' };
    expect(Object.keys(renamed(map, 'a', 'c'))).toEqual(['c', 'b']);
    expect(renamed(map, 'a', 'b')).toBe(map);
    expect(renamed(map, 'a', '')).toBe(map);
  });

  test('shows the map as YAML, with quotes around words that YAML would not read as strings', () => {
    expect(mapYaml({})).toBe('map: {}');
    expect(mapYaml({ name: 'user.name', 'two words': 'user["odd key"]', yes: 'orders[0].sku' })).toBe(
      'map:\n  name: user.name\n  "two words": "user[\\"odd key\\"]"\n  "yes": orders[0].sku',
    );
  });

  test('shows whether the map makes one row or one row for each element', () => {
    expect(mappedRows({ name: 'user.name', odd: 'user["odd key"]', second: 'orders[1].sku', none: 'no.such' }, answer)).toEqual([
      { name: 'Ada', odd: 1, second: 'B2', none: undefined },
    ]);
    expect(mappedRows({ sku: 'orders[].sku', name: '$body.user.name', status: '$status', etag: '$headers.ETag' }, answer)).toEqual([
      { sku: 'A1', name: 'Ada', status: 200, etag: '"7"' },
      { sku: 'B2', name: 'Ada', status: 200, etag: '"7"' },
    ]);
  });

  test('shows the facts of the answer', () => {
    const facts = { url: 'https://api.example.com/1', ms: 12, cached: false };
    expect(mappedRows({ from: '$url', ms: '$ms', cached: '$cached' }, { ...answer, facts })).toEqual([
      { from: 'https://api.example.com/1', ms: 12, cached: false },
    ]);
  });

  test('ignores properties that every JavaScript object inherits', () => {
    expect(mappedRows({ a: 'constructor.name', b: '__proto__' }, answer)).toEqual([{ a: undefined, b: undefined }]);
  });
});

test('the page splits an event stream correctly into events, wherever its chunks end', () => {
  const parser = new EventParser();
  expect(parser.push('id: 1\nevent: state\ndata: {"a"')).toEqual([]);
  expect(parser.push(':1}\n\n: still here\n\ndata: x\ndata: y\n\nid: 3')).toEqual([
    { id: '1', event: 'state', data: '{"a":1}' },
    { id: undefined, event: 'message', data: 'x\ny' },
  ]);
});

test('the page of a resumed run shows the figures of all parts of the run', () => {
  const run = runs[1] as RunShape;
  const whole = withTotals(fullView, run, 0);
  expect(whole.failures).toEqual([
    {
      ...{ node: 'profile', class: 'http', status: 404, count: 188, firstRecords: [37, 74, 111] },
      messages: [{ text: 'no such user', count: 188 }],
    },
  ]);
  expect(whole.mapping).toEqual([{ node: 'profile', field: 'name', path: 'data.user.name', found: 6224, of: 6224 }]);
  expect([whole.credits.spent, whole.hasTotals]).toEqual([6224, true]);
  const first = { ...fullView, earlier: 0 };
  expect(withTotals(first, run, 0)).toBe(first);
});

test('the page derives the format of an input from the name of the file', () => {
  expect(inputHeaders('rows.CSV')).toEqual({ 'Content-Type': 'text/csv' });
  expect(inputHeaders('rows.jsonl.gz')).toEqual({ 'Content-Type': 'application/jsonl', 'Content-Encoding': 'gzip' });
  const sheet = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
  expect(inputHeaders('rows.xlsx')).toEqual({ 'Content-Type': sheet });
  expect(inputHeaders('rows.xls')).toBeUndefined();
});

test("the page's curl commands are safe to paste into a shell", () => {
  expect(curlOfCall('http://127.0.0.1:4020', { id: 'a', fields: ["it's"] })).toContain(`-d '{"it'\\''s":"..."}'`);
  expect(curlOfRun('http://127.0.0.1:4020', { id: 'a' })).toContain('curl http://127.0.0.1:4020/v1/flows/a/runs');
});

test('the page shows a request in the form in which HTTP sends it', () => {
  expect(requestText({ method: 'POST', url: 'https://a.example.com/', headers: { Accept: '*/*' }, body: { a: 1 } })).toBe(
    'POST https://a.example.com/\nAccept: */*\n\n{\n  "a": 1\n}',
  );
  expect(requestText({ tool: 'find', arguments: { q: 1 } })).toContain('"tool": "find"');
});

test('the page shows a recent time in a short form', () => {
  const now = new Date(2026, 10, 24, 15, 0);
  expect(timeText(new Date(2026, 10, 24, 14, 2), now)).toBe('14:02');
  expect(timeText(new Date(2026, 9, 3, 14, 2), now)).toBe('3 Oct 14:02');
  expect(timeText(new Date(2025, 9, 3), now)).toBe('3 Oct 2025');
});
