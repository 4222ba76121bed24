import { expect, test } from 'vitest';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const rows = 'id,First Name,Post Code (billing)\n1,Ann,01234\n2,Bob,20095\n3,Cem,00001\n';

const flowFor = (url: string, map = '{ answer: path }') => `columns:
  first_name: First Name
  zip: Post Code (billing)
nodes:
  - type: http
    when: record["Post Code (billing)"] != "" && zip != ""
    url: ${url}/{{first_name}}?zip={{zip}}
    map: ${map}
`;

async function placeWithApi(failing: { name?: string } = {}) {
  const api = await httpServer(({ path }, response) => {
    const fails = failing.name !== undefined && path.includes(failing.name);
    json(response, { path }, fails ? 400 : 200);
  });
  return { api, place: await workplace({ 'rows.csv': rows, 'flow.yaml': flowFor(api.origin) }) };
}

const run = (place: Workplace, ...more: string[]) => place.automate(['run', 'flow.yaml', '--in', 'rows.csv', ...more]);

test('files keep the own names of columns, in every format', async () => {
  const { place } = await placeWithApi();
  expect((await run(place, '--out', 'out.csv')).code).toBe(0);
  expect(await place.read('out.csv')).toBe(
    'id,First Name,Post Code (billing),answer\n1,Ann,01234,/Ann?zip=01234\n2,Bob,20095,/Bob?zip=20095\n3,Cem,00001,/Cem?zip=00001\n',
  );
  expect((await run(place, '--out', 'out.ndjson')).code).toBe(0);
  expect((await place.read('out.ndjson')).split('\n')[0]).toBe(
    '{"id":"1","First Name":"Ann","Post Code (billing)":"01234","answer":"/Ann?zip=01234"}',
  );
  expect((await run(place, '--out', 'out.xlsx')).code).toBe(0);
  const again = await place.automate(['run', 'flow.yaml', '--in', 'out.xlsx', '--out', 'again.csv', '--limit', '1']);
  expect([again.code, await place.read('again.csv')]).toEqual([
    0,
    'id,First Name,Post Code (billing),answer\n1,Ann,01234,/Ann?zip=01234\n',
  ]);
});

test('a flow can give a name to a single column', async () => {
  const flow = 'columns: { first_name: First Name }\nnodes: [{ type: set, fields: { greeting: "Dear {{first_name}}" } }]\n';
  const place = await workplace({ 'rows.csv': 'First Name\nAnn\n', 'flow.yaml': flow });
  expect(await run(place, '--quiet')).toEqual({ code: 0, stdout: 'First Name,greeting\nAnn,Dear Ann\n', stderr: '' });
});

test('an errors file has them, too, and retry reads it', async () => {
  const failing: { name?: string } = { name: 'Bob' };
  const { place } = await placeWithApi(failing);
  expect((await run(place, '--out', 'out.csv')).code).toBe(4);
  expect((await place.read('out.errors.csv')).split('\n')[0]).toMatch(/^id,First Name,Post Code \(billing\),_error_node,/);
  failing.name = undefined;
  expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
  expect((await place.read('out.csv')).split('\n')[2]).toBe('2,Bob,20095,/Bob?zip=20095');
});

test('a flow that gets names after a run can retry its failed records', async () => {
  const failing: { name?: string } = { name: 'x' };
  const { api, place } = await placeWithApi(failing);
  await place.write('flow.yaml', `nodes:\n  - { type: http, url: "${api.origin}/x/{{id}}", map: { answer: path } }\n`);
  expect((await run(place, '--out', 'out.csv', '--keep-going')).code).toBe(4);
  await place.write('flow.yaml', flowFor(api.origin));
  expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
  expect((await place.read('out.csv')).split('\n')[1]).toBe('1,Ann,01234,/Ann?zip=01234');
});

test('--update takes over rows, also with another column in the input', async () => {
  const { api, place } = await placeWithApi();
  expect((await run(place, '--out', 'out.csv', '--update')).code).toBe(0);
  await place.write(
    'rows.csv',
    rows
      .replaceAll(/$(?=\n)/gm, ',x')
      .replace('(billing),x', '(billing),new')
      .replace('Cem', 'Cems'),
  );
  expect((await run(place, '--out', 'out.csv', '--update')).code).toBe(0);
  expect(api.requests.map(({ path }) => path).slice(3)).toEqual(['/Cems?zip=00001']);
  expect(await place.read('out.csv')).toBe(
    'id,First Name,Post Code (billing),new,answer\n1,Ann,01234,x,/Ann?zip=01234\n2,Bob,20095,x,/Bob?zip=20095\n3,Cems,00001,x,/Cems?zip=00001\n',
  );
});

test('--set takes either name', async () => {
  const { api, place } = await placeWithApi();
  for (const field of ['First Name', 'first_name']) {
    const { code } = await run(place, '--out', 'out.csv', '--force', '--limit', '1', '--set', `${field}=Zoe`);
    expect([code, await place.read('out.csv')]).toEqual([0, 'id,First Name,Post Code (billing),answer\n1,Zoe,01234,/Zoe?zip=01234\n']);
    await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--set', `${field}=Max`]);
    expect(api.requests.at(-1)?.path).toBe('/Max?zip=01234');
  }
});

test('a column that the input lacks is refused before anything is sent or written', async () => {
  const { api, place } = await placeWithApi();
  await place.write('rows.csv', rows.replace('First Name', 'Frist Name'));
  for (const more of [['--dry-run'], []]) {
    const { code, stderr } = await run(place, '--out', 'out.csv', ...more);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('flow.yaml:2:15: the input has no column "First Name"; did you mean "Frist Name"?'),
    ]);
  }
  expect([api.requests, (await place.files()).filter((name) => name.startsWith('out'))]).toEqual([[], []]);
});

test('a JSON record that has a column under both names fails', async () => {
  const { place } = await placeWithApi();
  const both = { 'First Name': 'Ann', first_name: 'Bob', 'Post Code (billing)': '1' };
  await place.write('rows.csv', `${JSON.stringify(both)}\n${JSON.stringify({ ...both, first_name: undefined })}\n`);
  const { code } = await run(place, '--in-format', 'ndjson', '--out', 'out.ndjson', '--errors', 'failed.ndjson');
  expect(code).toBe(4);
  expect(JSON.parse(await place.read('failed.ndjson'))).toMatchObject({
    ...both,
    _error: { class: 'input', message: 'expected "First Name" or "first_name", which are the same column in this flow, found both' },
  });
  expect(JSON.parse(await place.read('out.ndjson'))).toEqual({ 'First Name': 'Ann', 'Post Code (billing)': '1', answer: '/Ann?zip=1' });
});

test('given records and expected rows of a test may use either name', async () => {
  const { place } = await placeWithApi();
  await place.write('flow.yaml', flowFor('https://api.example.com'));
  const answers = `answers: [{ request: 'GET https://api.example.com/Ann?zip=1', body: { path: p } }]`;
  const tests = ['{ First Name: Ann, zip: "1" }', '{ first_name: Ann, zip: "1" }'].map(
    (record) => `  - name: ${record.slice(2, 12)}\n    record: ${record}\n    ${answers}\n    rows: [${record}]\n`,
  );
  await place.write('flow.test.yaml', `flow: flow.yaml\ntests:\n${tests.join('')}`);
  expect(await place.automate(['test', 'flow.test.yaml'])).toMatchObject({ code: 0 });
});

test('workers see the names of the flow', async () => {
  const { place } = await placeWithApi();
  expect((await run(place, '--out', 'out.ndjson', '--workers', '2')).code).toBe(0);
  expect((await place.read('out.ndjson')).split('\n')[1]).toBe(
    '{"id":"2","First Name":"Bob","Post Code (billing)":"20095","answer":"/Bob?zip=20095"}',
  );
});
