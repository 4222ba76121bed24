import { describe, expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { loopFlow, pagesFlow, pagesServer, wholeFlow } from '../helpers/pages-server.ts';

/** 12 pages of 200 rows of about 150 bytes: so much text that the run moves it from memory to a file. */
const many = {
  pages: 12,
  rows: 200,
  text: (id: string, n: number) => `${id} ${n}, "quoted", *bold* — ünïcödé 漢字 🙂\nand a second line${' of text'.repeat(n % 10)}`,
};
const few = { ...many, pages: 3, rows: 2 };

async function outputOf(place: Workplace, flow: string, out: string, more: readonly string[] = []): Promise<string> {
  const files = ['--out', out, '--errors', `${out}.errors.csv`];
  const { code, stderr } = await place.automate(['run', flow, '--in', 'rows.csv', ...files, '--quiet', ...more]);
  expect([code, stderr]).toEqual([0, '']);
  return place.read(out);
}

describe('a node with paginate writes the same output as a loop, or as a node that gets everything in one response', () => {
  const [last, around, nowhere] = [['id == "c"', 1] as const, ['id != "b"', 2] as const, ['false', 0] as const];
  const cases = [
    ['csv', 2400, many, [around]],
    ['json.gz', 2400, many, [around]],
    ['tsv', 6, few, [around]],
    ['json', 6, few, [last, around, nowhere]],
  ] as const;
  test.each(cases)('in %s with %i rows', async (format, rows, size, whens) => {
    const server = await pagesServer(size);
    const place = await workplace({ 'rows.csv': 'id\na\nb\nc\n' });
    for (const [when, times] of whens) {
      await place.write('whole.yaml', wholeFlow(server.origin, when));
      await place.write('pages.yaml', pagesFlow(server.origin, '', when));
      await place.write('loop.yaml', loopFlow(server.origin, when));
      const output = (name: string) => outputOf(place, `${name}.yaml`, `${name}.${format}`, ['--force']);
      const [whole, pages, loop] = [await output('whole'), await output('pages'), await output('loop')];
      expect([pages === whole, loop === whole]).toEqual([true, true]);
      expect(whole?.match(/second line/g) ?? []).toHaveLength(times * rows);
    }
    const expected = ['whole', 'pages', 'loop'].flatMap((name) => [`${name}.yaml`, `${name}.${format}`]);
    expect(await place.files()).toEqual([...expected, 'rows.csv'].sort());
  });

  test.each(['json', 'ndjson'])('to stdout as %s', async (format) => {
    const server = await pagesServer(many);
    const place = await workplace({
      'rows.csv': 'id\na\nb\n',
      'whole.yaml': wholeFlow(server.origin),
      'pages.yaml': pagesFlow(server.origin),
    });
    const run = (flow: string) => place.automate(['run', flow, '--in', 'rows.csv', '--out-format', format]);
    const [whole, pages] = [await run('whole.yaml'), await run('pages.yaml')];
    expect([whole.code, pages.code]).toEqual([0, 0]);
    expect(pages.stdout === whole.stdout).toBe(true);
    expect(await place.files()).toEqual(['pages.yaml', 'rows.csv', 'whole.yaml']);
  });

  test('with many records in flight, even if the first record is the slowest', async () => {
    const server = await pagesServer({ ...many, pages: 6 });
    const ids = Array.from({ length: 24 }, (_, index) => `r${index}`);
    const place = await workplace({
      'rows.csv': `id\n${ids.join('\n')}\n`,
      'whole.yaml': wholeFlow(server.origin),
      'pages.yaml': pagesFlow(server.origin, ', concurrency: 60'),
    });
    const whole = await outputOf(place, 'whole.yaml', 'whole.ndjson');
    expect((await outputOf(place, 'pages.yaml', 'pages.ndjson')) === whole).toBe(true);
    const unordered = await outputOf(place, 'pages.yaml', 'unordered.ndjson', ['--unordered']);
    expect(unordered.split('\n').sort().join('\n') === whole.split('\n').sort().join('\n')).toBe(true);
  });
});

describe('a record that fails on a later page', () => {
  test.each([
    ['csv', many],
    ['json', few],
  ])('leaves no row in the output: %s', async (format, size) => {
    const status = (id: string, page: number) => (id === 'bad' && page === size.pages - 1 ? 404 : 200);
    const server = await pagesServer({ ...size, status });
    const place = await workplace({ 'rows.csv': 'id\nbad\na\n', 'one.csv': 'id\na\n', 'flow.yaml': pagesFlow(server.origin) });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', `out.${format}`]);
    expect(code).toBe(4);
    expect((await place.automate(['run', 'flow.yaml', '--in', 'one.csv', '--out', `good.${format}`])).code).toBe(0);
    expect((await place.read(`out.${format}`)) === (await place.read(`good.${format}`))).toBe(true);
    expect(await place.read('out.errors.csv')).toMatch(
      new RegExp(`^bad,pages,http,404,"?page ${size.pages}: the server answered 404`, 'm'),
    );
    expect(await place.files()).toEqual(
      ['flow.yaml', `good.${format}`, 'one.csv', `out.${format}`, `out.${format}.automate`, 'out.errors.csv', 'rows.csv'].sort(),
    );
  });

  test('leaves an empty JSON array as the output if there are no other records', async () => {
    const server = await pagesServer({ ...few, status: (_, page) => (page === 2 ? 404 : 200) });
    const place = await workplace({ 'rows.csv': 'id\na\n', 'flow.yaml': pagesFlow(server.origin) });
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.json'])).code).toBe(4);
    expect(JSON.parse(await place.read('out.json'))).toEqual([]);
  });

  test('leaves no row in the output if one of its rows does not fit the columns', async () => {
    const server = await pagesServer(few);
    const place = await workplace({ 'rows.ndjson': '{"id":"a"}\n{"id":"b","more":1}\n', 'flow.yaml': pagesFlow(server.origin) });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out', 'out.csv']);
    expect(code).toBe(4);
    expect((await place.read('out.csv')).match(/^[ab],/gm)).toEqual(Array(6).fill('a,'));
    expect(JSON.parse(await place.read('out.errors.ndjson'))).toMatchObject({ id: 'b', _error: { class: 'output', record: 2 } });
  });
});

describe('a secret in a response with several pages', () => {
  const canary = 'canary/"7f3a+Zq9= 8x';

  test.each(['csv', 'ndjson.gz'])('is masked on every page: %s', async (format) => {
    const server = await pagesServer({ ...many, text: (_, n) => `${n} says ${canary} and ${encodeURIComponent(canary)}` });
    const flow = pagesFlow(server.origin, ', auth: { type: bearer, credential: key }');
    const place = await workplace({ 'rows.csv': 'id\na\nb\n', 'flow.yaml': flow });
    const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', `out.${format}`];
    const { code } = await place.automate(args, { env: { AUTOMATE_CREDENTIAL_KEY: canary } });
    expect(code).toBe(0);
    const text = await place.read(`out.${format}`);
    expect(text.match(/says \*\*\* and \*\*\*/g)).toHaveLength(2 * 2400);
    expect(text).not.toContain('7f3a');
  });

  test('is masked in the error message of a page that failed', async () => {
    const server = await pagesServer({ ...few, status: (_, page) => (page === 2 ? 403 : 200), text: () => canary });
    const flow = pagesFlow(server.origin, ', auth: { type: api_key, query: key, credential: key }');
    const place = await workplace({ 'rows.csv': 'id\na\n', 'flow.yaml': flow });
    const { stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], {
      env: { AUTOMATE_CREDENTIAL_KEY: canary },
    });
    const errors = await place.read('out.errors.csv');
    expect(errors).toContain('page 3: the server answered 403');
    expect(`${errors}${stderr}`).not.toContain('7f3a');
  });
});
