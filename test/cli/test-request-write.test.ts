import { chmod, stat, symlink } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { compileMapping } from '../../src/core/answer/mapping.ts';
import type { Value } from '../../src/core/value/value.ts';
import { allPaths, structureOf, withPaths } from '../../src/preview/structure.ts';
import { toggled } from '../../src/ui/page/test-request/map-panel.tsx';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const answer = { data: { user: { name: 'Ada', 'odd, key': 1 } }, tags: ['a'], orders: [{ number: 'A-1' }], none: null };
const head = ['# My flow', 'nodes:', '  - id: profile # the first', '    type: http'];

/** Creates a flow with comments and unusual spacing, and starts its server. `lines`: further lines of the flow's node. */
async function flowWith(lines: readonly string[] = [], status = 200, body: object = answer) {
  const server = await answeringServer(() => ({ status, body }));
  const before = [...head, `    url: "${server.origin}/{{id}}"`];
  const after = ['    concurrency:   2 # slow', ''];
  const text = [...before, ...lines, ...after].join('\n');
  const place = await workplace({ 'flow.yaml': text, 'rows.csv': 'id\n1\n' });
  const write = (...words: string[]) => place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', ...words]);
  /** Returns the flow with these lines as its map. */
  const flow = (map: readonly string[]) => [...before, ...lines, ...after.slice(0, -1), ...map, ''].join('\n');
  return { ...place, server, text, write, flow };
}

describe('automate test-request --write', () => {
  test('adds the chosen paths to the map, and changes no other byte of the flow', async () => {
    const { write, read, flow, path, automate } = await flowWith();
    await chmod(path('flow.yaml'), 0o640);
    expect((await write()).stdout).toContain('without map, no field is added');
    const { code, stdout, stderr } = await write('--write', 'data.user.name, data.user["odd, key"],$status');
    expect(stdout).not.toContain('without map');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('wrote 3 fields into the map of "profile" in flow.yaml\n  name: data.user.name\n'),
    ]);
    expect(await read('flow.yaml')).toBe(
      flow(['    map:', '      name: data.user.name', '      "odd, key": "data.user[\\"odd, key\\"]"', '      status: "$status"']),
    );
    expect((await stat(path('flow.yaml'))).mode & 0o777).toBe(0o640);
    expect((await automate(['run', 'flow.yaml', '--in', 'rows.csv'])).stdout).toBe('id,name,"odd, key",status\n1,Ada,1,200\n');
  });

  test('takes the place of the comment that init has written', async () => {
    const server = await answeringServer(() => ({ status: 200, body: answer }));
    const { automate, read } = await workplace({ 'rows.csv': 'id\n17\n' });
    await automate(['init', '--in', 'rows.csv', '--from-curl', `curl ${server.origin}/17`]);
    expect(await read('flow.yaml')).toContain('# map: [name]');
    expect((await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--write', 'data.user.name'])).code).toBe(0);
    expect(await read('flow.yaml')).toMatch(/\n {4}# auth: .*\n$/);
    expect(await read('flow.yaml')).toContain('    map:\n      name: data.user.name\n');
  });

  test.each([
    ['x[].value[1]', 'value: x[].value[1]', ['b', 'd']],
    ['x[1].value[0]', 'value: x[1].value[0]', ['c']],
    ['$body.x[].value[0]', 'value: "$body.x[].value[0]"', ['a', 'c']],
    ['x[]["value"]', 'value: "x[][\\"value\\"]"', ['"[""a"",""b""]"', '"[""c"",""d""]"']],
  ])('adds a path that a map can read, although it is not in the list: %s', async (path, line, values) => {
    const { write, read, flow, automate } = await flowWith([], 200, { x: [{ value: ['a', 'b'] }, { value: ['c', 'd'] }] });
    expect((await write('--write', path)).code).toBe(0);
    expect(await read('flow.yaml')).toBe(flow(['    map:', `      ${line}`]));
    expect((await automate(['run', 'flow.yaml', '--in', 'rows.csv'])).stdout).toBe(
      `id,value\n${values.map((value) => `1,${value}\n`).join('')}`,
    );
  });

  test.each(['x[].value[2]', 'x[].name', 'value[0]', 'x[0][]'])('refuses a path that finds nothing in the answer: %s', async (path) => {
    const { write, read, text } = await flowWith([], 200, { x: [{ value: ['a', 'b'] }] });
    expect(await write('--write', path)).toMatchObject({ code: 2, stderr: expect.stringContaining(`the answer has no "${path}"`) });
    expect(await read('flow.yaml')).toBe(text);
  });

  test('extends an existing map, keeps its comments, and does not repeat a path', async () => {
    const map = ['    map: # ours', '      name: none # other', '      user: data.user.name'];
    const { write, read, text } = await flowWith(map);
    expect((await write('--write', 'data.user.name,tags')).code).toBe(0);
    const written = text.replace('      user: data.user.name\n', '      user: data.user.name\n      tags: tags\n');
    expect(await read('flow.yaml')).toBe(written);
    const again = await write('--write', 'tags');
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('has these paths already: nothing was written')]);
    expect(await read('flow.yaml')).toBe(written);
  });

  test('extends a list of paths, and keeps its comments', async () => {
    const { write, read, text, automate } = await flowWith(['    map: # ours', '      - none # often empty']);
    expect((await write('--write', 'tags')).code).toBe(0);
    expect(await read('flow.yaml')).toBe(
      text.replace('      - none # often empty\n', '      none: none # often empty\n      tags: tags\n'),
    );
    expect((await automate(['run', 'flow.yaml', '--in', 'rows.csv'])).stdout).toBe('id,none,tags\n1,,"[""a""]"\n');
  });

  test('adds every value if its argument is "all"', async () => {
    const { write, read, flow, path } = await flowWith();
    await symlink('flow.yaml', path('link.yaml'));
    expect((await write('--write', 'all')).code).toBe(0);
    const names = [
      'name: data.user.name',
      '"odd, key": "data.user[\\"odd, key\\"]"',
      'tags: tags',
      'number: orders[].number',
      'none: none',
    ];
    expect(await read('flow.yaml')).toBe(flow(['    map:', ...names.map((line) => `      ${line}`)]));
  });

  test.each([
    [['--write'], 'without a terminal, say what to write: --write all for every value, or --write PATH,PATH'],
    [['--write', 'a..b'], '--write: '],
    [['--write', ','], '--write: expected "all", or paths such as data.name,data.email'],
    [['--write', 'all', '--curl'], '--write takes its paths from an answer: leave --curl out'],
    [['--write', 'all', '--no-send'], 'leave --no-send out'],
  ])('refuses the arguments %j before anything is sent', async (words, message) => {
    const { write, read, text, server } = await flowWith();
    const { code, stderr } = await write(...words);
    expect([code, stderr, await read('flow.yaml'), server.requests.length]).toEqual([2, expect.stringContaining(message), text, 0]);
  });

  test.each([
    ['the response does not have the path', ['data.user.nam'], 2, 'the answer has no "data.user.nam"; did you mean "data.user.name"?'],
    ['the chosen arrays do not fit into one map', ['orders[].number,tags[]'], 3, 'expand different arrays'],
  ])('changes nothing if %s', async (_, paths, exit, message) => {
    const { write, read, text } = await flowWith();
    const { code, stderr } = await write('--write', ...paths);
    expect([code, stderr, await read('flow.yaml')]).toEqual([exit, expect.stringContaining(message), text]);
  });

  test('finds every path of a long answer by its name, but does not add more than 500 at once', async () => {
    const long = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`key${index}`, index]));
    const { write, read, text, flow } = await flowWith([], 200, long);
    const all = await write('--write', 'all');
    const message = '--write all adds at most 500 paths, and the answer has 1,200\n  name the paths that you need: --write PATH,PATH';
    expect([all.code, all.stderr, await read('flow.yaml')]).toEqual([2, expect.stringContaining(message), text]);
    expect((await write('--write', 'key1199')).code).toBe(0);
    expect(await read('flow.yaml')).toBe(flow(['    map:', '      key1199: key1199']));
  });

  test('changes nothing after a failed request, or if the flow must be edited by hand', async () => {
    const failed = await flowWith([], 404);
    expect([(await failed.write('--write', 'all')).code, await failed.read('flow.yaml')]).toEqual([4, failed.text]);
    const more = await flowWith(['    map: { name: { path: none, default: x } }']);
    const refused = await more.write('--write', 'all');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('has more than fields and paths, which --write cannot change: edit the flow'),
    ]);
    const inner = '{ id: in, type: http, url: "http://127.0.0.1:1/{{id}}", map: { n: none } }';
    const place = await workplace({ 'loop.yaml': `nodes: [{ type: loop, while: "n == 1", max: 2, nodes: [${inner}] }]\n` });
    const nested = await place.automate(['test-request', 'loop.yaml', '--set', 'id=1', '--node', 'in', '--write', 'all']);
    expect([nested.code, nested.stderr]).toEqual([2, expect.stringContaining('"in", which is inside another node: edit the flow')]);
  });
});

const answers: readonly Value[] = [
  answer as unknown as Value,
  [{ id: 1, lines: [{ sku: 'a', sizes: [1] }] }] as unknown as Value,
  [1, 2] as unknown as Value,
  'text',
  { a: [], b: {}, m: [[1]], rows: [{ x: 1, more: [{ y: 1 }] }], other: [{ z: 1 }] } as unknown as Value,
];

test('test-request can put all paths of a response into one map', () => {
  expect(answers.map((body) => allPaths(structureOf(body).rows))).toEqual([
    ['data.user.name', 'data.user["odd, key"]', 'tags', 'orders[].number', 'none'],
    ['[].id', '[].lines[].sku', '[].lines[].sizes'],
    ['$body'],
    ['$body'],
    ['a', 'b', 'm', 'rows[].x', 'rows[].more[].y', 'other'],
  ]);
  for (const body of answers) expect(() => compileMapping(withPaths({}, allPaths(structureOf(body).rows)), 'keep')).not.toThrow();
});

test('test-request --write gives no field an empty name, which a flow cannot have', () => {
  expect(withPaths({}, ['[""]', 'a[""]', 'b[""].c'])).toEqual({ value: '[""]', a: 'a[""]', c: 'b[""].c' });
});

test('test-request --write chooses the same field names as the dashboard', () => {
  const paths = [
    'a.b',
    'c.b',
    'x[].b',
    'list[0]',
    '["odd key"]',
    'a["b"].c[]',
    '$status',
    '$body',
    '$body[]',
    '[].id',
    '[]',
    '$headers.etag',
    '["$x"]',
  ];
  const page = paths.reduce((map, path) => toggled(map, path), {});
  expect(withPaths({}, paths)).toEqual(page);
});
