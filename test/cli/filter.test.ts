import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
const flow = 'nodes: [{ type: filter, where: int(n) > 1 }]\n';

describe('a filter node', () => {
  test('drops records, which are then counted as filtered, not as failed', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'n\n1\n2\n0\n3\n' });
    const { code, stderr } = await place.automate([...run, '--summary', 'sum.json', '--events', 'events.ndjson']);
    expect([code, await place.read('out.csv')]).toEqual([0, 'n\n2\n3\n']);
    expect(stderr).toContain('done: 4 read, 2 written, 0 failed, 2 filtered in ');
    expect(stderr).toContain('output: out.csv (2 records)');
    const summary = JSON.parse(await place.read('sum.json'));
    expect(summary).toMatchObject({ read: 4, written: 2, failed: 0, filtered: 2, output_records: 2, whole: { read: 4, filtered: 2 } });
    const events = (await place.read('events.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.filter(({ type }) => type === 'record-filtered').map(({ record }) => record)).toEqual([1, 3]);
    expect(events.filter(({ type }) => type === 'record-done').map(({ record }) => record)).toEqual([2, 4]);
    expect(await place.files()).not.toContain('out.errors.csv');
  });

  test.each([
    ['n in [1, 2]', 'a CSV cell is text, and never equals a number\n', '  convert it: int(n) or double(n)\n'],
    ['on == true', 'a CSV cell is text, and never equals true or false\n', '  compare it with text: on == "true"\n'],
    ['n == 1', 'a CSV cell is text, and never equals a number\n', '  or compare it with text: n == "1"\n'],
  ])('warns if it drops every record of a table, because text never equals the value: %s', async (where, reason, wayOut) => {
    const place = await workplace({
      'flow.yaml': `nodes:\n  - type: filter\n    where: ${where}\n`,
      'rows.csv': 'n,on\n1,true\n2,false\n',
    });
    const { code, stderr } = await place.automate(run);
    expect([code, await place.read('out.csv')]).toEqual([0, 'n,on\n']);
    expect(stderr).toContain(`flow.yaml:3:12: warning: ${reason}  3 |     where: ${where}\n`);
    expect(stderr).toContain(wayOut);
    const json = await workplace({ 'flow.yaml': `nodes:\n  - type: filter\n    where: ${where}\n`, 'rows.json': '[{"n":1,"on":true}]' });
    const typed = await json.automate(['run', 'flow.yaml', '--in', 'rows.json', '--out', 'out.csv']);
    expect([typed.code, typed.stderr, await json.read('out.csv')]).toEqual([0, expect.not.stringContaining('warning'), 'n,on\n1,true\n']);
  });

  test('is refused if it tests with has() for a column that the table lacks', async () => {
    const place = await workplace({ 'flow.yaml': 'nodes: [{ type: filter, where: has(m) }]\n', 'rows.csv': 'n\n1\n' });
    const { code, stderr } = await place.automate(run);
    expect([code, await place.files()]).toEqual([3, ['flow.yaml', 'rows.csv']]);
    expect(stderr).toMatch(
      /^flow\.yaml:1:36: no record has a field "m" here; available: n\n[\s\S]*\n {2}so has\(\) is false for every record/,
    );
  });

  test('fails a record if its condition cannot be evaluated', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'n\nx\n2\n0\n' });
    const { code, stderr } = await place.automate(run);
    expect([code, await place.read('out.csv')]).toEqual([4, 'n\n2\n']);
    expect(stderr).toContain('3 read, 1 written, 1 failed, 1 filtered');
    expect(await place.read('out.errors.csv')).toContain('x,filter-1,template,,"where: expected a whole number');
  });

  test('prevents requests for the records that it drops', async () => {
    const server = await httpServer();
    const node = `{ type: http, url: "${server.origin}/{{n}}" }`;
    const place = await workplace({ 'flow.yaml': `nodes: [{ type: filter, where: n == "2" }, ${node}]`, 'rows.csv': 'n\n1\n2\n3\n' });
    expect((await place.automate([...run, '--allow-http'])).code).toBe(0);
    expect(server.requests.map(({ path }) => path)).toEqual(['/2']);
  });

  test('is summarized for the whole run after --resume, including earlier parts', async () => {
    const server = await httpServer();
    const rows = ['n', 0, 1, 2, 3, 4, 5, ''].join('\n');
    const flow = `nodes: [{ type: filter, where: int(n) % 2 == 1 }, { type: http, url: "${server.origin}/{{n}}" }]`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': rows });
    const first = await place.automate([...run, '--allow-http', '--concurrency', '1', '--max-credits', '1']);
    expect(first.code).toBe(5);
    const last = await place.automate([...run, '--allow-http', '--resume', '--max-credits', '9', '--summary', 's.json']);
    expect(JSON.parse(await readFile(place.path('s.json'), 'utf8')).whole).toEqual({
      read: 6,
      written: 3,
      failed: 0,
      filtered: 3,
      credits: 3,
    });
    expect(last.stderr).toContain('done: 6 read, 3 written, 0 failed (this part: ');
    expect(last.stderr).toContain(' filtered), 3 filtered');
    expect([last.code, await place.read('out.csv')]).toEqual([0, 'n\n1\n3\n5\n']);
  });

  test('can drop all records, and then an empty output replaces the earlier output', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'n\n1\n', 'out.csv': 'n\n9\n' });
    expect((await place.automate([...run, '--replace'])).code).toBe(0);
    expect(await place.read('out.csv')).toBe('n\n');
  });

  test('requires a condition that uses existing fields', async () => {
    const place = await workplace({
      'flow.yaml': 'nodes: [{ type: filter, where: lost > 1 }, { type: filter }, { type: filter, where: "1 + 1" }]',
      'rows.csv': 'n\n1\n',
    });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toMatch(/the key "where" is missing\n(?: .*\n)* {2}where is the condition of the records to keep; /);
    expect(stderr).toContain('expected a condition that is true or false, found one that gives int');
    await place.write('flow.yaml', 'nodes: [{ type: filter, where: lost > 1 }]');
    expect((await place.automate(run)).stderr).toContain('no record has a field "lost" here');
  });
});
