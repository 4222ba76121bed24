import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

// The first record determines the columns of a CSV output. A later record with a different field does not fit these columns.

const records = '{"id":1}\n{"id":2,"extra":"x"}\n{"id":3}\n';

async function placeWith(more = '') {
  const server = await httpServer((_request, response) => json(response, { name: 'Ada' }));
  const ask = `  - id: ask\n    type: http\n    url: ${server.origin}/{{id}}\n    map:\n      name: name\n`;
  const place = await workplace({ 'flow.yaml': `nodes:\n${ask}${more}`, 'rows.ndjson': records });
  const run = (...args: string[]) => place.automate(['run', 'flow.yaml', '--in', 'rows.ndjson', ...args]);
  return { server, place, run };
}

test('a record whose fields do not fit the output goes to the errors file unsent', async () => {
  const { server, place, run } = await placeWith();
  const { code, stderr } = await run('--out', 'out.csv');
  expect([code, stderr]).toEqual([4, expect.stringContaining('3 read, 2 written, 1 failed in ')]);
  expect(server.requests.map(({ path }) => path).sort()).toEqual(['/1', '/3']);
  expect(await place.read('out.csv')).toBe('id,name\n1,Ada\n3,Ada\n');
  expect(JSON.parse(await place.read('out.errors.ndjson'))).toMatchObject({
    id: 2,
    extra: 'x',
    _error: {
      class: 'output',
      message: expect.stringContaining('the record has a field "extra" for which the output has no column'),
      attempts: 0,
    },
  });
});

test('a dry run counts the records whose fields do not fit the output', async () => {
  const { run } = await placeWith();
  expect((await run('--out', 'out.csv', '--dry-run')).stdout).toContain('1 would fail before anything is sent; the first: record 2:');
});

test.each([
  ['removes', '  - type: set\n    remove: [extra]\n', 'id,name\n1,Ada\n2,Ada\n3,Ada\n'],
  ['renames', '  - type: set\n    rename:\n      extra: name\n', 'id,name\n1,Ada\n2,x\n3,Ada\n'],
  ['may remove', '  - type: set\n    when: id == 2\n    remove: [extra]\n', 'id,name\n1,Ada\n2,Ada\n3,Ada\n'],
])('a record fits the output if a node %s the field that has no column', async (_what, more, expected) => {
  const { server, place, run } = await placeWith(more);
  expect((await run('--out', 'out.csv')).code).toBe(0);
  expect(server.requests).toHaveLength(3);
  expect(await place.read('out.csv')).toBe(expected);
});

test('a record with any set of fields fits an NDJSON output', async () => {
  const { server, place, run } = await placeWith();
  expect((await run('--out', 'out.ndjson')).code).toBe(0);
  expect(server.requests).toHaveLength(3);
  expect(await place.read('out.ndjson')).toContain('{"id":2,"extra":"x","name":"Ada"}');
});

describe.each(['""', '"\\ud800"'])('a first record with the field name %s, which cannot be a CSV column', (name) => {
  const rows = `{"id":1,${name}:"x"}\n{"id":2}\n`;

  test('is not sent, and its errors file can be read as an input', async () => {
    const { server, place, run } = await placeWith();
    await place.write('rows.ndjson', rows);
    expect((await run('--out', 'out.csv', '--errors', 'errors.csv')).code).toBe(4);
    expect(server.requests.map(({ path }) => path)).toEqual(['/2']);
    expect(await place.read('out.csv')).toBe('id,name\n2,Ada\n');
    const again = await place.automate(['run', 'flow.yaml', '--in', 'errors.csv', '--out', 'again.csv', '--errors', 'errors.2.csv']);
    expect(again.code).toBe(4);
  });

  test('is sent if a node of the flow renames the field', async () => {
    const { place, run } = await placeWith(`  - type: set\n    rename: { ${name}: other }\n`);
    await place.write('rows.ndjson', rows);
    expect((await run('--out', 'out.csv')).code).toBe(0);
    expect(await place.read('out.csv')).toBe('id,other,name\n1,x,Ada\n2,,Ada\n');
  });
});
