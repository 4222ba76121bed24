import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { planFor, shown } from '../helpers/flow-problems.ts';

const http = (more: string) => `{ type: http, url: "https://a.com/{{id}}", ${more} }`;

/** Returns the columns that a flow's maps replace, with the node and the field. */
function replacedBy(nodes: string, columns: readonly string[]): string[] {
  return planFor(`nodes: [${nodes}]`)
    .replacedColumns(columns)
    .map(({ node, field, column }) => `${node} ${field}${field === column ? '' : ` (${column})`}`);
}

test('a column of the input that found_by replaces is reported, with a name that is free', () => {
  const first = `{ type: first, until: has(email), found_by: source, nodes: [${http('map: [email]')}] }`;
  const plan = planFor(`nodes: [${first}]`);
  const [warning, ...others] = plan.warnings(['id', 'source', 'source_2']);
  expect([warning?.message, others]).toEqual([
    '"source" is a column of the input, and found_by replaces it\nto keep the column, write another name: found_by: source_3',
    [],
  ]);
  expect(plan.warnings(['id'])).toEqual([]);
  expect(replacedBy(`{ type: set, remove: [source] }, ${first}`, ['id', 'source'])).toEqual([]);
  expect(replacedBy(first, ['id', 'source'])).toEqual(['first-1 source']);
});

describe('a column of the input that a map replaces', () => {
  test('is reported at the name of its field, with both ways out', () => {
    const plan = planFor('nodes:\n  - type: http\n    url: https://a.com/{{id}}\n    map: { name: data.nickname, plan: data.plan }\n');
    const [warning, ...others] = plan.warnings(['id', 'name', 'name_2']);
    expect([warning && shown(warning), others]).toEqual([
      [
        '4:12 "name" is a column of the input, and the answer replaces it, even with an empty value',
        '    map: { name: data.nickname, plan: data.plan }',
        '           ^^^^',
      ].join('\n'),
      [],
    ]);
    expect(warning?.message.split('\n').slice(1)).toEqual([
      'to keep the column, write another name: name_3: data.nickname',
      'to replace it, write: name: { path: data.nickname, replace: true }',
    ]);
    expect(plan.warnings()).toEqual([]);
  });

  test.each([
    ['a list of paths', '[id, name]', 'map: { name_2: name }', 'map: { name: { path: name, replace: true } }'],
    ['a path in brackets', '{ name: "data[].name" }', 'name_2: "data[].name"', 'name: { path: "data[].name", replace: true }'],
    [
      'a default',
      '{ name: { path: x, default: "-" } }',
      'name_2: { path: x, default: "-" }',
      'name: { path: x, default: "-", replace: true }',
    ],
    [
      'a default with digits',
      '{ name: { path: x, default: 1.50 } }',
      'name_2: { path: x, default: 1.50 }',
      'name: { path: x, default: 1.50, replace: true }',
    ],
    [
      'a required field',
      '{ name: { path: "x[0]", required: true, replace: false } }',
      'name_2: { path: "x[0]", required: true }',
      'name: { path: "x[0]", required: true, replace: true }',
    ],
    ['an odd name', '{ "true": x }', 'true_2: x', '"true": { path: x, replace: true }'],
  ])('is reported with lines that can be pasted: %s', (_, map, another, replace) => {
    const message =
      planFor(`nodes: [${http(`map: ${map}`)}]`)
        .warnings(['name', 'true'])
        .at(-1)?.message ?? '';
    expect(message.includes('even with an empty value')).toBe(!/default|required/.test(map));
    expect(message).toContain(`write another name: ${another}\nto replace it, write: ${replace}`);
    const name = another.startsWith('true') ? 'true' : 'name';
    for (const line of [another, replace]) {
      const pasted = http(line.startsWith('map') ? line : `map: { ${line} }`);
      expect(replacedBy(pasted, [name])).toEqual([]);
    }
  });

  test.each([
    ['an http node', http('map: { name: x, plan: y }'), ['http-1 name']],
    ['an http node that expands a list', http('map: { name: "items[].name" }'), ['http-1 name']],
    ['a batch', http('method: POST, body: ["{{items}}"], batch: { items: "{{id}}" }, map: { name: "[].name" }'), ['http-1 name']],
    [
      'the key of a batch',
      http(
        'method: POST, body: ["{{items}}"], batch: { items: "{{id}}", match: { field: id, path: "[].id" }, missing: keep }, map: { id: "[].id" }',
      ),
      ['http-1 id'],
    ],
    ['a node with paging', http('paginate: { type: link_header }, map: { name: "[].name" }'), ['http-1 name']],
    ['a geocode node', '{ type: geocode, provider: embedded, address: "{{id}}", map: { name: city } }', ['geocode-1 name']],
    ['a places node', '{ type: places, lookup: chain, name: "{{id}}", map: { name: name } }', ['places-1 name']],
    ['the fields of a model', '{ type: llm, provider: openai, model: m, prompt: "{{id}}", output: { name: string } }', ['llm-1 name']],
    [
      'a node inside a poll',
      `{ type: poll, every: 1s, timeout: 1m, until: "name == 1", nodes: [${http('map: { name: x }')}] }`,
      ['poll-1.http-1 name'],
    ],
    ['a node inside a loop', `{ type: loop, while: "n == 1", nodes: [${http('map: { name: x, n: n }')}] }`, ['loop-1.http-1 name']],
    [
      'a field that was renamed',
      `{ type: set, rename: { Name: name } }, ${http('map: { name: x }')}`,
      ['http-2 name (Name)'],
      ['id', 'Name'],
    ],
    ['only the first of two maps', `${http('map: { name: x }')}, ${http('map: { name: y }')}`, ['http-1 name']],
    [
      'the second map, if the first one can be skipped',
      `${http('when: id == "1", map: { name: { path: x, replace: true } }')}, ${http('map: { name: y }')}`,
      ['http-2 name'],
    ],
    [
      'the second map, if a record goes on after a failure',
      `${http('on_error: keep, map: { name: x }')}, ${http('map: { name: y }')}`,
      ['http-1 name', 'http-2 name'],
    ],
  ])('is reported for %s', (_, nodes, expected, columns = ['id', 'name']) => {
    expect(replacedBy(nodes, columns)).toEqual(expected);
  });

  test.each([
    ['the field is written with replace: true', http('map: { name: { path: x, replace: true } }')],
    ['a set node gives it a new value', `{ type: set, fields: { name: x } }, ${http('map: { name: x }')}`],
    ['only a set node replaces it', '{ type: set, fields: { name: x } }'],
    ['a set node has removed it', `{ type: set, remove: [name] }, ${http('map: { name: x }')}`],
    ['a set node has renamed it', `{ type: set, rename: { name: old_name } }, ${http('map: { name: x }')}`],
    ['an earlier map was allowed to replace it', `${http('map: { name: { path: x, replace: true } }')}, ${http('map: { name: y }')}`],
    [
      'the loop around the map carries the field',
      `{ type: loop, while: "name == 1", carry: [name], nodes: [${http('map: { name: x }')}] }`,
    ],
    ['the map only replaces a field of an earlier map', `${http('map: { plan: x }')}, ${http('map: { plan: y }')}`],
  ])('is not reported if %s', (_, nodes) => {
    expect(replacedBy(nodes, ['id', 'name'])).toEqual([]);
  });
});

/** Creates a workplace with a flow that maps `name`, and a server that has a nickname for the first of two people. */
async function people(map = '{ name: data.nickname }') {
  const server = await answeringServer(({ path }) => ({ body: { data: path === '/1' ? { nickname: 'Annie' } : {} } }));
  const flow = `nodes:\n  - id: profile\n    type: http\n    url: ${server.origin}/{{id}}\n    map: ${map}\n`;
  const rows = 'id,name\n1,Ann\n2,Bob\n';
  return { ...(await workplace({ 'flow.yaml': flow, 'rows.csv': rows })), server, rows };
}

const warning = 'flow.yaml:5:12: warning: "name" is a column of the input, and the answer replaces it, even with an empty value\n';

describe('a run that replaces a column of the input', () => {
  test('says so before its first request and in the summary', async () => {
    const { automate, read } = await people();
    expect((await automate(['validate', 'flow.yaml', '--in', 'rows.csv'])).stderr).toContain(warning);
    const { code, stdout, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--summary', 's.json']);
    expect([code, stdout]).toEqual([0, 'id,name\n1,Annie\n2,\n']);
    expect(stderr.split(warning)).toHaveLength(2);
    expect(stderr.indexOf(warning)).toBe(0);
    expect(stderr).toContain('\n  warning: columns of the input were replaced: name (profile)\n');
    expect(JSON.parse(await read('s.json')).replaced).toEqual([{ node: 'profile', field: 'name' }]);
  });

  test.each([
    ['CSV from stdin', 'id,name\n1,Ann\n', []],
    ['JSON from stdin', '[{"id":1},{"id":2,"name":"Bob"}]', []],
    ['JSON Lines from stdin', '{"id":1,"name":"Ann"}\n', []],
    ['JSON Lines without a last newline', '{"id":1}\n{"id":2,"name":"Bob"}', []],
    ['a field of --set', 'id\n1\n', ['--set', 'name=Ann']],
  ])('says so once the fields are known: %s', async (_, stdin, more) => {
    const { automate } = await people();
    const { code, stderr } = await automate(['run', 'flow.yaml', ...more], { stdin });
    expect([code, stderr]).toEqual([0, expect.stringContaining(warning)]);
  });

  test.each([['a late record', `${`{"id":1,"pad":"${'x'.repeat(10_000)}"}\n`.repeat(200)}{"id":2,"name":"Bob"}\n`]])(
    'says so, also in the summary, once a record has the field: %s',
    async (_, rows) => {
      const { automate, read, write } = await people();
      await write('rows.ndjson', rows);
      const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.ndjson', '--out', 'out.ndjson', '--summary', 's.json']);
      const said = 'warning: flow.yaml:5:12: "name" is a column of the input, and the answer replaces it, even with an empty value\n';
      expect([code, stderr.split(said)]).toEqual([0, [expect.anything(), expect.anything()]]);
      expect(JSON.parse(await read('s.json')).replaced).toEqual([{ node: 'profile', field: 'name' }]);
    },
  );

  test.each([
    ['with replace: true', '{ name: { path: data.nickname, replace: true } }', 'id,name\n1,Annie\n2,\n', []],
    ['with another name', '{ name_2: data.nickname }', 'id,name,name_2\n1,Ann,Annie\n2,Bob,\n', []],
    ['with --quiet', '{ name: data.nickname }', 'id,name\n1,Annie\n2,\n', ['--quiet']],
  ])('says nothing %s', async (_, map, rows, more) => {
    const { automate, read } = await people(map);
    const { stdout, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--summary', 's.json', ...more]);
    expect([stdout, stderr.includes('warning')]).toEqual([rows, false]);
    expect(JSON.parse(await read('s.json'))).toEqual(
      more.length > 0
        ? expect.objectContaining({ replaced: [expect.anything()] })
        : expect.not.objectContaining({ replaced: expect.anything() }),
    );
  });

  test('repeats no request with --update because replace: true was added', async () => {
    const { automate, read, write, server } = await people();
    const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--update'];
    await automate(run);
    await write('flow.yaml', (await read('flow.yaml')).replace('data.nickname', '{ path: data.nickname, replace: true }'));
    const { code, stderr } = await automate(run);
    expect([code, stderr, server.requests.length]).toEqual([0, expect.stringContaining('2 unchanged'), 2]);
  });

  test('refuses a replace that is neither true nor false, and sends nothing', async () => {
    const { automate, server, files } = await people('{ name: { path: data.nickname, replace: yes } }');
    const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('flow.yaml:5:50: expected true or false')]);
    expect([server.requests, await files()]).toEqual([[], ['flow.yaml', 'rows.csv']]);
  });
});

test('test-request --write chooses a name that no record has, and says so', async () => {
  const { automate, read } = await people('{ plan: data.plan }');
  const { code, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--write', 'data.nickname,data']);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('already')]);
  const server = await answeringServer(() => ({ body: { name: 'X', id: 7 } }));
  await automate(['init', 'new', '--in', 'rows.csv', '--from-curl', `curl ${server.origin}/1`]);
  const written = await automate(['test-request', 'new/flow.yaml', '--in', 'rows.csv', '--write', 'all']);
  expect(written.stderr).toContain(
    '\n  name_2: name (the records already have a field "name")\n  id_2: id (the records already have a field "id")\n',
  );
  expect(await read('new/flow.yaml')).toContain('    map:\n      name_2: name\n      id_2: id\n');
  expect((await automate(['validate', 'new/flow.yaml', '--in', 'rows.csv'])).stderr).toBe('');
});
