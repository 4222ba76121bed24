import { appendFileSync, readFileSync, renameSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { shell } from '../helpers/shell.ts';
import { workbook } from '../helpers/workbook.ts';

/** Text that gzip cannot make much smaller. */
const noise = (seed: number) =>
  Array.from({ length: 1500 }, (_, at) => ((seed * 7919 + at * 104_729 * (seed + at)) % 1e8).toString(36)).join('');

const ids = Array.from({ length: 30 }, (_, index) => String(index + 1));

/** Returns 30 records in a format. Together, they are larger than what is read before the first request. */
async function inputOf(format: string, seed: number): Promise<Buffer> {
  const records = ids.map((id) => ({ id, note: noise(seed + Number(id)) }));
  if (format === 'json') return Buffer.from(JSON.stringify(records));
  if (format === 'ndjson') return Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  if (format === 'xlsx') {
    const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
    const rows = [{ id: 'id', note: 'note' }, ...records].map(({ id, note }) => `<row>${cell(id)}${cell(note)}</row>`);
    return workbook({ sheets: { Sheet1: rows.join('') } });
  }
  const csv = Buffer.from(['id,note', ...records.map(({ id, note }) => `${id},${note}`), ''].join('\n'));
  return format === 'csv.gz' ? gzipSync(csv) : csv;
}

/** Prepares a flow whose first request changes the input with `change`, which receives the input's path. */
async function changing(format: string, change: (path: string) => void) {
  const requests: string[] = [];
  const name = `rows.${format}`;
  const server = await answeringServer(({ path }) => {
    if (requests.push(path) === 1) change(place.path(name));
    return { body: { name: path } };
  });
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", concurrency: 1, map: { name: name } }]\n`;
  const place = await workplace({ 'flow.yaml': flow, [name]: await inputOf(format, 1) });
  return { ...place, place, requests, run: ['run', 'flow.yaml', '--in', name] };
}

const formats = ['csv', 'csv.gz', 'json', 'ndjson', 'xlsx'];

describe('an input that is overwritten in place while it is read', () => {
  test.each(formats)('ends the run with exit code 6: %s', async (format) => {
    const other = await inputOf(format, 2);
    const { automate, run } = await changing(format, (path) => writeFileSync(path, other));
    const { code, stderr } = await automate([...run, '--out', 'out.ndjson', '--quiet']);
    expect(code).toBe(6);
    expect(stderr).toContain(`automate: rows.${format} has changed while it was read\n`);
  });

  test('leaves the rows that were written, and can only be started over', async () => {
    const other = await inputOf('csv', 2);
    const { automate, run, read } = await changing('csv', (path) => writeFileSync(path, other));
    const { stderr } = await automate([...run, '--out', 'out.csv', '--summary', 's.json', '--quiet']);
    const rows = (await read('out.csv')).trimEnd().split('\n').length - 1;
    expect(rows).toBeGreaterThan(0);
    expect(stderr).toContain(`the ${rows} records before that went to out.csv; they can be a mixture of the old and the new content\n`);
    expect(stderr).toContain('automate run flow.yaml --in rows.csv --out out.csv --summary s.json --quiet --force\n');
    expect(JSON.parse(await read('s.json'))).toMatchObject({ exit_code: 6, written: rows, ending: 'failed' });
    const resumed = await automate([...run, '--out', 'out.csv', '--resume']);
    expect([resumed.code, resumed.stderr]).toEqual([73, expect.stringContaining('the content of the input has changed')]);
    expect((await automate([...run, '--out', 'out.csv', '--force', '--quiet'])).code).toBe(0);
  });

  test('leaves the old output as it is with --replace', async () => {
    const other = await inputOf('csv', 2);
    const { automate, run, read, write } = await changing('csv', (path) => writeFileSync(path, other));
    await write('out.csv', 'old\n');
    const { code, stderr } = await automate([...run, '--out', 'out.csv', '--replace', '--quiet']);
    expect([code, await read('out.csv')]).toEqual([6, 'old\n']);
    expect(stderr).toMatch(/rows\.csv has changed while it was read\n.*run this again/);
    expect((await automate([...run, '--out', 'out.csv', '--replace', '--quiet'])).code).toBe(0);
    expect(await read('out.csv')).toContain(noise(3));
  });

  test('is noticed in each of several inputs', async () => {
    const other = await inputOf('csv', 2);
    const { automate, write, run } = await changing('csv', (path) => writeFileSync(path, other));
    await write('more.csv', 'id,note\n31,x\n');
    const { code, stderr } = await automate([...run, '--in', 'more.csv', '--out', 'out.csv', '--quiet']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('rows.csv has changed while it was read')]);
  });

  test('is noticed if the file is stdin', async () => {
    const other = await inputOf('csv', 2);
    const { place, read } = await changing('csv', (path) => writeFileSync(path, other));
    const { code, stderr } = await shell(place, 'automate run flow.yaml --out out.csv --quiet < rows.csv');
    expect([code, stderr]).toEqual([6, expect.stringContaining('<stdin> has changed while it was read')]);
    expect(await read('out.csv')).toContain('\n1,');
  });

  test('does not matter after the last record that --limit allows', async () => {
    const whole = await inputOf('csv', 1);
    const end = Buffer.from('changed', 'utf8');
    const change = (path: string) => writeFileSync(path, Buffer.concat([whole.subarray(0, -1000), end, whole.subarray(end.length - 1000)]));
    const { automate, run } = await changing('csv', change);
    expect((await automate([...run, '--out', 'out.csv', '--limit', '2', '--quiet'])).code).toBe(0);
  });
});

describe('an input that is cut off while it is read', () => {
  test.each([
    ['before the position of the reader', 1000],
    ['after the position of the reader', 150_000],
  ])('ends the run with exit code 6: %s', async (_, bytes) => {
    const { automate, run } = await changing('csv', (path) => truncateSync(path, bytes));
    const { code, stderr } = await automate([...run, '--out', 'out.csv', '--quiet']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('rows.csv has changed while it was read')]);
  });
});

describe('an input whose read content stays the same', () => {
  const same: [string, (path: string) => void][] = [
    ['appending records to it', (path) => appendFileSync(path, '31,appended\n')],
    ['changing its modification time', (path) => utimesSync(path, 1, 1)],
    ['writing the same content again', (path) => writeFileSync(path, readFileSync(path))],
    [
      'replacing it with a new file',
      (path) => {
        writeFileSync(`${path}.new`, 'id,note\n1,new\n');
        renameSync(`${path}.new`, path);
      },
    ],
  ];

  test.each(same)('does not end the run: %s', async (what, change) => {
    const { automate, run, read } = await changing('csv', change);
    expect(await automate([...run, '--out', 'out.csv', '--quiet'])).toMatchObject({ code: 0, stderr: '' });
    const rows = (await read('out.csv')).trimEnd().split('\n').slice(1);
    expect(rows.map((row) => row.split(',')[0])).toEqual(what.startsWith('appending') ? [...ids, '31'] : ids);
  });

  test('is accepted as stdin, even if the shell has read the beginning', async () => {
    const { place, read } = await changing('csv', () => undefined);
    await place.write('long.csv', `first line\n${await place.read('rows.csv')}`);
    const { code } = await shell(place, '(read -r line; automate run flow.yaml --out out.csv --quiet) < long.csv');
    expect([code, (await read('out.csv')).split('\n').length]).toEqual([0, 32]);
  });
});
