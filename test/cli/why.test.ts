import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];
const kept = [...run, '--keep-answers'];

const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

async function place(nodes: (origin: string) => string) {
  const server = await answeringServer(({ path: asked, body }) => {
    const path = asked.replace(/\?.*/, '');
    if (path === '/2') return { status: 404 };
    if (path === '/3') return { status: 302, headers: { location: '/moved' } };
    return { body: { data: { name: `of ${path}` }, results: body === '' ? [] : JSON.parse(body).ids?.map((id: string) => ({ id })) } };
  });
  const work = await workplace({ 'flow.yaml': nodes(server.origin), 'rows.csv': 'id\n1\n2\n3\n4\n' });
  return { ...work, origin: server.origin };
}

const two = (origin: string) => `nodes:
  - { id: find, type: http, url: "${origin}/{{id}}", auth: { type: api_key, query: key, credential: crm }, map: { name: data.name } }
  - { id: tell, type: http, method: POST, url: "${origin}/tell", body: { name: "{{name}}" }, when: id != "4", map: { told: data.name } }
  - { id: both, type: set, fields: { both: "{{name}} {{told}}" }, rename: { told: heard } }
`;

const env = { AUTOMATE_CREDENTIAL_CRM: 'a-long-secret' };

describe('automate why', () => {
  test('shows the requests of a record, and the path of each field', async () => {
    const { automate, origin } = await place(two);
    await automate(kept, { env });
    const { code, stdout } = await automate(['why', 'out.csv', '--record', '1']);
    expect([code, stdout.replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replace(/\d+ ms/g, 'N ms')]).toEqual([
      0,
      `record 1 of out.csv
find: GET ${origin}/1
  200, TIME, 1 attempt, N ms, from the network
tell: POST ${origin}/tell
  with {"name":"of /1"}
  200, TIME, 1 attempt, N ms, from the network

field  node  path
name   find  data.name
heard  tell  data.name
both   both
`,
    ]);
    expect(stdout).not.toContain('a-long-secret');
    await automate([...kept, '--replace'], { env });
    const { stdout: json } = await automate(['why', 'out.csv', '--record', '3', '--json']);
    expect(JSON.parse(json)).toEqual({
      record: 3,
      nodes: [
        {
          node: 'find',
          type: 'http',
          requests: [
            {
              request: `GET ${origin}/3`,
              status: 200,
              at: iso,
              attempts: 1,
              ms: expect.any(Number),
              redirected_to: `${origin}/moved`,
              from: 'kept',
            },
          ],
        },
        { node: 'tell', type: 'http', requests: [expect.objectContaining({ body: '{"name":"of /moved"}', from: 'kept' })] },
      ],
      fields: [
        { field: 'name', node: 'find', path: 'data.name' },
        { field: 'heard', node: 'tell', path: 'data.name' },
        { field: 'both', node: 'both' },
      ],
    });
    expect((await automate(['why', 'out.csv', '--record', '4'])).stdout).toContain(
      '\ntell: no answer is kept, because nothing was sent, the request failed, or its answer contains a secret\n',
    );
  });

  test.each([
    ['a run without --keep-answers', (work: Workplace) => work.automate([...run, '--replace'], { env })],
    ['another program', (work: Workplace) => work.write('out.csv', 'id\n7\n')],
  ])('says that the requests are not those of the output, if %s has changed it', async (_, change) => {
    const work = await place(two);
    await work.automate(kept, { env });
    await work.automate([...kept, '--replace'], { env });
    const why = ['why', 'out.csv', '--record', '1'];
    expect((await work.automate(why)).stdout).not.toContain('since');
    await change(work);
    const { stdout } = await work.automate(why);
    expect(stdout).toMatch(
      /^record 1 of out\.csv\nthe last run that kept its answers has sent these requests; out\.csv has changed since \(.* UTC\), by a run without --keep-answers or by another program\nfind: GET /,
    );
    expect(JSON.parse((await work.automate([...why, '--json'])).stdout)).toMatchObject({ record: 1, changed_since: iso });
  });

  test('knows all records of a batch, and those that share a cached answer', async () => {
    const { automate, write } = await place(
      (origin) => `nodes:
  - { id: same, type: http, url: "${origin}/same", cache: 1h }
  - id: batch
    type: http
    method: POST
    url: ${origin}/lookup
    batch: { size: 10, items: "{{id}}", match: { field: id, path: "results[].id" } }
    body: { ids: "{{items}}" }
    map: { found: "results[].id" }
`,
    );
    await automate(kept);
    await write('rows.csv', 'id\n1\n2\n3\n4\n5\n');
    await automate([...kept, '--replace']);
    const nodesOf = async (record: string) => JSON.parse((await automate(['why', 'out.csv', '--record', record, '--json'])).stdout).nodes;
    expect(await nodesOf('3')).toMatchObject([
      { node: 'same', requests: [{ from: 'kept' }] },
      { node: 'batch', requests: [{ from: 'kept', body: '{"ids":["1","2","3","4"]}' }] },
    ]);
    expect(await nodesOf('5')).toMatchObject([
      { node: 'same', requests: [{ from: 'kept' }] },
      { node: 'batch', requests: [{ from: 'network', body: '{"ids":["5"]}' }] },
    ]);
  });

  test('masks a secret in a request', async () => {
    const { automate, origin } = await place(
      (origin) =>
        `nodes: [{ id: ask, type: http, method: POST, url: "${origin}/x", body: { key: "{{id}}-a-long-secret", auth: { credential: crm } } }]`,
    );
    await automate(kept, { env });
    const { stdout } = await automate(['why', 'out.csv', '--record', '1']);
    expect(stdout).toContain(`ask: POST ${origin}/x\n  with {"key":"1-***","auth":"***"}\n`);
  });

  test.each([
    [['why', 'out.csv'], 'automate: expected the number of a record\n  give it with --record, such as --record 347\n'],
    [
      ['why', 'out.csv', '--record', '2'],
      'automate: the last run of out.csv has used no kept answer for record 2: it has no such record, or its row was taken over from an older output, or nothing was sent for it, or its requests failed, or were sent without --keep-answers, or their answers contain a secret\n',
    ],
    [
      ['why', 'rows.csv', '--record', '1'],
      'automate: rows.csv has no kept answers: its runs had no --keep-answers, or their answers were deleted\n',
    ],
    [['why', 'ot.csv', '--record', '1'], expect.stringContaining('ot.csv: there is no such file')],
    [['why', 'out.csv', '--record', '0'], expect.stringContaining('expected a whole number')],
  ])('%j is refused', async (args, message) => {
    const { automate } = await place(two);
    await automate(kept, { env });
    const { code, stderr } = await automate(args);
    expect([code, stderr]).toEqual([2, message]);
  });
});
