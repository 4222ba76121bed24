import { describe, expect, test } from 'vitest';
import type { RowShape, RowsShape, RunShape } from '../../src/serve/shapes.ts';
import { askedServer, askingFlow, csvOf, idRows } from '../helpers/asking.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { csvRun, runThat } from '../helpers/served-runs.ts';
import { type Serving, servingHere as serving } from '../helpers/serving.ts';

const copying = 'nodes: [{ type: set, fields: { b: "1" } }]\n';

/** Runs a flow to its end. */
async function ended({ send }: Serving, key: string, csv: string, query = '', type = 'text/csv'): Promise<RunShape> {
  const init = csvRun(csv, { prefer: 'wait=30', 'content-type': type });
  return (await (await send(`/v1/flows/ask/runs${query}`, { key, ...init })).json()) as RunShape;
}

async function rowsOf({ send }: Serving, key: string, { id }: { id: string }, query = ''): Promise<RowsShape> {
  return (await (await send(`/v1/runs/${id}/rows${query}`, { key })).json()) as RowsShape;
}

describe('the rows of a run', () => {
  test('are the first and the last hundred, with their numbers and the number of all', async () => {
    const server = await serving({ ask: copying });
    const key = server.key();
    const run = await ended(server, key, csvOf(1000));
    const { columns, total, first, last } = await rowsOf(server, key, run);
    expect([columns, total, run.counts.rows]).toEqual([['id', 'note', 'b'], 1000, 1000]);
    expect(first.map(({ row, cells }) => [row, cells])).toEqual(numbered(1, 100));
    expect(last.map(({ row, cells }) => [row, cells])).toEqual(numbered(901, 1000));
    const few = await rowsOf(server, key, run, '?first=1&last=2');
    expect([few.first[0]?.row, few.last.map(({ row }) => row)]).toEqual([1, [999, 1000]]);
  });

  test.each([
    ['csv', '1.10'],
    ['tsv', '1.10'],
    ['json', '1.10'],
    ['ndjson', '1.10'],
  ])('are shown for an output in %s, as text with all digits', async (out, number) => {
    const server = await serving({ ask: copying });
    const key = server.key();
    const body = '{"n":1.10,"o":{"x":[1]},"t":"two\\nlines"}\n{"n":null}\n';
    const run = await ended(server, key, body, `?out=${out}`, 'application/x-ndjson');
    const { columns, total, first } = await rowsOf(server, key, run);
    const cells = first.map((row) => Object.fromEntries(columns.map((name, index) => [name, row.cells?.[index]])));
    expect([total, cells[0]]).toEqual([2, { n: number, o: '{"x":[1]}', t: 'two\nlines', b: '1' }]);
    expect(cells[1]).toMatchObject({ n: '', b: '1' });
  });

  test('are marked if they failed, in the errors file and after on_error: keep', async () => {
    const { origin } = await askedServer();
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key();
    const run = await ended(server, key, idRows(14));
    expect(await rowsOf(server, key, run)).toMatchObject({ total: 12, last: [] });
    const errors = await rowsOf(server, key, run, '?of=errors');
    expect(errors).toMatchObject({
      total: 2,
      first: [
        { row: 1, failed: true },
        { row: 2, failed: true },
      ],
    });
    expect([errors.columns.slice(0, 2), errors.first[1]?.cells?.[0]]).toEqual([['id', '_error_node'], '14']);
    await server.place.write('flows/ask.yaml', askingFlow(origin, ', on_error: keep'));
    const kept = await rowsOf(server, key, await ended(server, key, idRows(8)));
    expect(kept.first.filter(({ failed }) => failed).map(({ row }) => row)).toEqual([7]);
  });

  test('are counted apart from the records', async () => {
    const { origin } = await httpServer((_, response) => json(response, { list: [{ sku: 'a' }, { sku: 'b' }] }));
    const server = await serving({ ask: `nodes: [{ type: http, url: "${origin}/{{id}}", map: { sku: "list[].sku" } }]\n` });
    const run = await ended(server, server.key({ scopes: ['run'] }), idRows(3));
    expect(run.counts).toMatchObject({ written: 3, rows: 6 });
  });

  test('are there while the run is under way, as far as they are written', async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { origin } = await httpServer(async ({ path }, response) => {
      if (path === '/4') await held;
      json(response, { name: path });
    });
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key();
    const run = (await (await server.send('/v1/flows/ask/runs', { key, ...csvRun(idRows(5)) })).json()) as RunShape;
    await expect.poll(async () => (await rowsOf(server, key, run)).first.length).toBe(3);
    expect(await rowsOf(server, key, run, '?of=errors')).toEqual({ columns: [], total: 0, first: [], last: [] });
    answer();
    await runThat(server, key, run, ({ state }) => state === 'finished');
    expect((await rowsOf(server, key, run)).total).toBe(5);
  });

  test.each(['csv', 'json', 'ndjson'])('are those that a stopped run has written, in %s', async (out) => {
    const { origin } = await httpServer(({ path }, response) => json(response, { name: path }, path === '/9' ? 404 : 200));
    const server = await serving({ ask: askingFlow(origin) });
    const key = server.key();
    const run = await ended(server, key, idRows(20), `?out=${out}&max_errors=0`);
    expect(run.state).toBe('stopped');
    const { total, first, last } = await rowsOf(server, key, run);
    expect([total, first.length, last]).toEqual([run.counts.rows, run.counts.rows, []]);
    expect(first.slice(0, 8).map(({ cells }) => cells)).toEqual(numberedNames(8));
    expect((await rowsOf(server, key, run, '?of=errors')).total).toBe(1);
  });

  test('have short cells; a single row has whole ones', async () => {
    const server = await serving({ ask: copying });
    const key = server.key();
    const [long, markup] = ['x'.repeat(1_000_000), '<img src=x onerror=alert(1)>'];
    const run = await ended(server, key, JSON.stringify([{ long, markup, formula: '=1+1' }]), '?out=csv', 'application/json');
    const { first, columns } = await rowsOf(server, key, run);
    expect(first[0]?.cells).toEqual([`${'x'.repeat(200)}…`, markup, '=1+1', '1']);
    const row = (await (await server.send(`/v1/runs/${run.id}/rows/${first[0]?.at}`, { key })).json()) as RowShape;
    expect(row).toEqual({ columns, failed: false, cells: [long, markup, '=1+1', '1'] });
  });

  test('are refused to keys that may not see the run, and for a wrong query or position', async () => {
    const server = await serving({ ask: copying });
    const key = server.key();
    const run = await ended(server, key, 'id\n1\n');
    const other = server.key({ name: 'other' });
    const tests = server.key({ name: 'tests', scopes: ['test'] });
    const reader = server.key({ name: 'reader', scopes: ['read'] });
    const status = async (path: string, as: string) => (await server.send(`/v1/runs/${run.id}/rows${path}`, { key: as })).status;
    expect(await Promise.all([other, tests, reader].map((as) => status('', as)))).toEqual([404, 403, 200]);
    expect(await Promise.all([other, tests, reader].map((as) => status('/5', as)))).toEqual([404, 403, 200]);
    for (const path of ['?of=input', '?first=101', '?last=-1', '?more=1', '/x', '/5?first=1'])
      expect([path, await status(path, key)]).toEqual([path, 400]);
    for (const path of ['/0', '/6', '/99', '/5?of=errors']) expect([path, await status(path, key)]).toEqual([path, 404]);
    expect((await server.send(`/ui/runs/${run.id}/rows`)).status).toBe(403);
  });
});

/** The rows of `askingFlow` for the ids from 1. */
function numberedNames(count: number) {
  return Array.from({ length: count }, (_, index) => [`${index + 1}`, `/${index + 1}`]);
}

/** The rows of `csvOf` with these numbers, after the flow. */
function numbered(from: number, to: number) {
  return Array.from({ length: to - from + 1 }, (_, index) => [from + index, [`${from + index}`, `note, ${from + index}`, '1']]);
}
