import { expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

/** Creates a workplace with a flow that lists the items of each customer, and a server that sends them in pages of two. */
async function listPlace(more = '') {
  const server = await answeringServer(({ path }) => {
    const from = Number(new URL(path, 'http://127.0.0.1').searchParams.get('page_token') ?? 0);
    return { body: { items: [{ n: from }, { n: from + 1 }], next_page_token: from < 4 ? `${from + 2}.0` : '' } };
  });
  const flow = `nodes:\n  - id: items\n    type: http\n    url: ${server.origin}/{{id}}\n    map: { n: "items[].n" }\n${more}`;
  return { ...(await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\n2\n' })), server, flow };
}

const line = 'paginate: { type: cursor, path: next_page_token, param: page_token }';
const warning = `warning: the answer of "items" has more pages (see next_page_token), and only the first one is read
to read all pages, add to "items":
  ${line}
if only the first page is meant, add:
  paginate: none
`;

test('a run says once for each node that there are more pages, and again in the summary', async () => {
  const { automate, read } = await listPlace();
  const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--summary', 's.json', '--events', 'e.ndjson'];
  const { code, stderr } = await automate(run);
  expect([code, stderr.split(warning)]).toEqual([0, [expect.anything(), expect.anything()]]);
  expect(stderr).toMatch(
    /\n {2}warning: items read only the first page, and more follow \(record [12], see next_page_token\); to read them all, add to items:\n {4}paginate: \{/,
  );
  const { more_pages: pages } = JSON.parse(await read('s.json'));
  expect(pages).toEqual([{ node: 'items', record: expect.any(Number), sign: 'next_page_token', paginate: line }]);
  expect((await read('e.ndjson')).match(/"type":"more-pages"/g)).toHaveLength(1);
});

test('the line that a run prints reads all pages once it is in the flow', async () => {
  const { automate, write, flow } = await listPlace();
  await write('flow.yaml', `${flow}    ${line}\n`);
  const { code, stdout, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv']);
  expect([code, stdout, stderr]).toEqual([
    0,
    expect.stringMatching(/^id,n\n(?:1,\d\n){6}(?:2,\d\n){6}$/),
    expect.not.stringContaining('warning'),
  ]);
});

test.each([
  ['paginate: none', '    paginate: none\n', []],
  ['--quiet', '', ['--quiet']],
])('a run says nothing about more pages with %s', async (_, more, args) => {
  const { automate } = await listPlace(more);
  const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', ...args]);
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/warning|page/)]);
});

test('a run with workers says only once that there are more pages', async () => {
  const { automate } = await listPlace();
  const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--workers', '2']);
  expect([code, stderr.split('has more pages').length]).toEqual([0, 2]);
});

test('test-request says that there are more pages, and prints the lines to add', async () => {
  const { automate } = await listPlace();
  const { code, stderr } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv']);
  expect([code, stderr]).toEqual([0, warning]);
  const { stdout } = await automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--json']);
  expect(JSON.parse(stdout).more_pages).toEqual({ sign: 'next_page_token', paginate: line });
  const none = await listPlace('    paginate: none\n');
  expect((await none.automate(['test-request', 'flow.yaml', '--in', 'rows.csv'])).stderr).toBe('');
});

test('a flow with an unknown paginate is refused at its position, and nothing is sent', async () => {
  const { automate, server, files } = await listPlace('    paginate: off\n');
  const { code, stderr } = await automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining('flow.yaml:6:15: expected none, or a mapping with the type of paging, found "off"\n'),
  ]);
  expect([server.requests, await files()]).toEqual([[], ['flow.yaml', 'rows.csv']]);
});
