import { expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--summary', 's.json'];
const warning = 'warning: items: no answer has meta.next: only first pages were read; is paginate.path right?';

/** Creates a workplace with a flow for lists of one page; `metaOf` returns what else the list of a record has. */
async function listPlace(metaOf: (id: string) => object, paginate = 'type: cursor, path: meta.next, param: c') {
  const server = await answeringServer(({ path }) => ({
    body: { items: [{ n: 1 }], ...(path.includes('c=') ? {} : metaOf(path.split('/')[1] as string)) },
  }));
  const flow = `nodes:\n  - id: items\n    type: http\n    url: ${server.origin}/{{id}}\n    map: { n: "items[].n" }\n    paginate: { ${paginate} }\n`;
  return { ...(await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n2\n3\n4\n' })), server };
}

test.each([
  ['cursor', 'type: cursor, path: meta.next, param: c'],
  ['next_url', 'type: next_url, path: meta.next'],
])('a run in which no answer has the path to the next page says so once, and also with --quiet: %s', async (_, paginate) => {
  const { automate, read } = await listPlace(() => ({}), paginate);
  const { code, stderr } = await automate(run);
  expect([code, stderr.split(warning)]).toEqual([0, [expect.anything(), expect.anything()]]);
  expect(JSON.parse(await read('s.json')).never_found).toEqual([{ node: 'items', path: 'meta.next' }]);
  const quiet = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'q.csv', '--quiet']);
  expect([quiet.code, quiet.stderr]).toEqual([0, `${warning}\n`]);
});

test('a header that no answer has is also named', async () => {
  const { automate } = await listPlace(() => ({}), 'type: cursor, path: $headers.x-next, param: c');
  expect((await automate([...run, '--quiet'])).stderr).toContain('no answer has $headers.x-next:');
});

test.each<[string, (id: string) => object, string?]>([
  ['one answer has the path', (id) => (id === '3' ? { meta: { next: 'a' } } : {})],
  ['the path is null', () => ({ meta: { next: null } })],
  ['something above the path is null', () => ({ meta: null })],
  ['until ends the lists', () => ({ done: true }), 'type: cursor, path: meta.next, param: c, until: body.done'],
  ['all lists are empty', () => ({ items: [] }), 'type: cursor, path: meta.next, param: c, items: items'],
])('a run says nothing about the path if %s', async (_, metaOf, paginate) => {
  const { automate, read } = await listPlace(metaOf, paginate);
  const { code, stderr } = await automate(run);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('no answer has meta.next')]);
  expect(JSON.parse(await read('s.json')).never_found).toBeUndefined();
});

test.each<[string, (id: string) => object, number]>([
  ['the first part has found it', (id) => (id === '1' ? { meta: { next: 'a' } } : {}), 3],
  ['the second part has found it', (id) => (id === '4' ? { meta: { next: 'a' } } : {}), 2],
])('the parts of a resumed run count together: %s', async (_, metaOf, credits) => {
  const { automate } = await listPlace(metaOf);
  expect((await automate([...run, '--max-credits', String(credits), '--concurrency', '1'])).code).toBe(5);
  const { code, stderr } = await automate([...run, '--resume']);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('no answer has meta.next')]);
});

test('a resumed run in which no part has found the path says so', async () => {
  const { automate, read } = await listPlace(() => ({}));
  expect((await automate([...run, '--max-credits', '2', '--concurrency', '1'])).code).toBe(5);
  expect((await automate([...run, '--resume', '--quiet'])).stderr).toContain(warning);
  expect(JSON.parse(await read('s.json')).never_found).toEqual([{ node: 'items', path: 'meta.next' }]);
});

test('a run with workers says it once', async () => {
  const { automate } = await listPlace(() => ({}));
  const { code, stderr } = await automate([...run, '--workers', '2']);
  expect([code, stderr.split(warning).length]).toEqual([0, 2]);
});
