import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { answerGeocoder } from '../../examples/servers/geocoder.mjs';
import { answeringServer, type ServerAnswer } from '../helpers/answering-server.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import type { SeenRequest } from '../helpers/http-server.ts';
import { commandConnection, oddServer } from '../helpers/mcp/servers.ts';

const kept = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--keep-answers'];
const again = [...kept, '--replace'];

type Answer = (request: SeenRequest, index: number) => ServerAnswer | Promise<ServerAnswer>;

/** A workplace with a server. `asked` returns the requests since its last call. */
async function place(flow: (origin: string) => string, answer: Answer, rows = 'id\n1\n2\n3\n') {
  const requests: string[] = [];
  const server = await answeringServer((request, index) => {
    requests.push(`${request.method} ${request.path}`);
    return answer(request, index);
  });
  const work = await workplace({ 'flow.yaml': flow(server.origin), 'rows.csv': rows });
  return { ...work, origin: server.origin, asked: () => requests.splice(0).sort() };
}

/** A first run without kept answers, one that keeps them, and one that uses them. All have to write the same. */
async function expectSame({ automate, read, asked }: Workplace & { asked(): string[] }, count: number, options: readonly string[] = []) {
  await automate([...kept.slice(0, -1), ...options]);
  const [plain, requests] = [await read('out.csv'), asked()];
  expect((await automate([...kept, '--force', ...options])).code).toBe(0);
  expect([await read('out.csv'), asked()]).toEqual([plain, requests]);
  const { code, stderr } = await automate([...again, ...options]);
  expect(stderr).toContain(`  ${count} answer${count === 1 ? ' was' : 's were'} kept: 0 requests, 0 credits\n`);
  expect([code, await read('out.csv'), asked()]).toEqual([0, plain, []]);
  expect((await automate([...kept.slice(0, -1), '--replay', '--replace', ...options])).code).toBe(0);
  expect([await read('out.csv'), asked()]).toEqual([plain, []]);
}

describe('kept answers', () => {
  test('serve batches of records', async () => {
    const flow = (origin: string) => `nodes:
  - type: http
    method: POST
    url: ${origin}/lookup
    batch: { size: 2, items: "{{id}}", match: { field: id, path: "results[].id" } }
    body: { ids: "{{items}}" }
    map: { name: "results[].name" }
`;
    const answer: Answer = ({ body }) => ({
      body: { results: JSON.parse(body).ids.map((id: string) => ({ id, name: `name ${id}` })) },
    });
    await expectSame(await place(flow, answer, 'id\n1\n2\n3\n4\n'), 2);
  });

  test('serve each record of a batch by itself, whatever records shared it', async () => {
    const flow = (origin: string) => `nodes:
  - { type: http, url: "${origin}/first/{{id}}", map: { a: a } }
  - type: http
    method: POST
    url: ${origin}/batch
    batch: { size: 3, items: "{{id}}" }
    body: { ids: "{{items}}" }
    map: { name: "names[].name" }
`;
    let sent = () => {};
    const batchSent = new Promise<void>((resolve) => {
      sent = resolve;
    });
    const batches: string[] = [];
    const answer: Answer = async ({ path, body }) => {
      // The first record is the last to join a batch, which it is not with kept answers.
      if (path === '/first/1') await batchSent;
      if (path !== '/batch') return { body: { a: path } };
      sent();
      batches.push(body);
      return { body: { names: JSON.parse(body).ids.map((id: string) => ({ name: `name ${id}` })) } };
    };
    const work = await place(flow, answer, 'id\n1\n2\n3\n4\n5\n6\n');
    expect((await work.automate(kept)).code).toBe(0);
    expect(batches).toContain('{"ids":["1","5","6"]}');
    const first = await work.read('out.csv');
    work.asked();
    const { stderr } = await work.automate(again);
    expect(stderr).toContain('8 answers were kept: 0 requests, 0 credits');
    expect([await work.read('out.csv'), work.asked()]).toEqual([first, []]);
    expect(JSON.parse((await work.automate(['answers', 'out.csv', '--json'])).stdout)).toMatchObject({ answers: 8 });
    expect((await work.automate(['why', 'out.csv', '--record', '5'])).stdout).toContain('  with {"ids":["1","5","6"]}\n');

    await work.write('rows.csv', 'id\n6\n2\n7\n');
    await work.automate(again);
    expect(work.asked()).toEqual(['GET /first/7', 'POST /batch']);
    expect(batches.at(-1)).toBe('{"ids":["7"]}');
    expect(await work.read('out.csv')).toBe('id,a,name\n6,/first/6,name 6\n2,/first/2,name 2\n7,/first/7,name 7\n');
  });

  test('serve a record of a batch once', async () => {
    const flow = (origin: string) => `nodes:
  - { type: http, method: POST, url: "${origin}/batch", batch: { size: 2, items: "{{id}}" }, body: { ids: "{{items}}" }, map: { n: "ns[]" } }
`;
    let n = 0;
    const answer: Answer = ({ body }) => ({ body: { ns: JSON.parse(body).ids.map(() => ++n) } });
    const work = await place(flow, answer, 'id\na\na\n');
    await work.automate(kept);
    work.asked();
    await work.write('rows.csv', 'id\na\na\na\n');
    await work.automate(again);
    expect([await work.read('out.csv'), work.asked()]).toEqual(['id,n\na,1\na,2\na,3\n', ['POST /batch']]);
    expect((await work.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--replay', '--replace'])).code).toBe(0);
    expect(await work.read('out.csv')).toBe('id,n\na,1\na,2\na,3\n');
  });

  test('serve questions to a language model, also those that were asked again, with their tokens', async () => {
    const flow = (origin: string) => `nodes:
  - type: llm
    provider: openai
    base_url: ${origin}
    credential: none
    model: m
    prompt: "Who is {{id}}?"
    output: { kind: { enum: [a, b] } }
    price: { input: 1000, output: 1000 }
    map: { kind: output.kind, input: usage.input_tokens, cost: cost }
`;
    const answer: Answer = ({ body }) => {
      const { messages } = JSON.parse(body);
      const isFirst = messages.length === 1 && body.includes('Who is 2?');
      const content = isFirst ? '{"kind":"x"}' : '{"kind":"a"}';
      return { body: { choices: [{ message: { content }, finish_reason: 'stop' }], usage: { prompt_tokens: 20, completion_tokens: 5 } } };
    };
    const work = await place(flow, answer);
    await expectSame(work, 3);
    expect(await work.read('out.csv')).toBe('id,kind,input,cost\n1,a,20,0.025\n2,a,40,0.05\n3,a,20,0.025\n');
    await work.write('flow.yaml', flow(work.origin).replace('Who is', 'Where is'));
    await work.automate(again);
    expect(work.asked()).toHaveLength(3);
  });

  test('serve tools of an MCP server', async () => {
    const work = await place(
      () => '',
      () => ({}),
      'id\n1\n2\n',
    );
    const note = work.path('note.txt');
    await work.write(
      'flow.yaml',
      `connections: { odd: ${commandConnection(oddServer('plain', note))} }
nodes: [{ type: mcp, connection: odd, tool: work, arguments: { id: "{{id}}" }, map: { said: text, at: $at, cached: $cached } }]
`,
    );
    expect((await work.automate(kept)).code).toBe(0);
    const [first, noted] = [await work.read('out.csv'), await readFile(note, 'utf8')];
    expect((await work.automate(again)).stderr).toContain('  2 answers were kept: 0 requests');
    expect(await work.read('out.csv')).toBe(first.replaceAll('false', 'true'));
    await work.automate([...kept.slice(0, -1), '--replay', '--replace']);
    expect(await work.read('out.csv')).toBe(first.replaceAll('false', 'true'));
    // The server was not even started.
    expect(await readFile(note, 'utf8')).toBe(noted);
  });

  test('serve look-ups that ask a server, also in batches', async () => {
    const flow = (batch: string) => (origin: string) =>
      `connections: { own: { type: http, base_url: "${origin}" } }
nodes:
  - { type: geocode, provider: census-us, connection: own${batch}, address: { street: "{{s}}", city: Chicago, state: IL, postcode: "{{z}}" } }
`;
    const rows = 's,z\n100 Main St,60614\n101 Main St,60614\n1 Nowhere Rd,60614\n';
    const answer: Answer = ({ method, path, headers, body }) =>
      answerGeocoder({ method, path, body, headers: headers as Record<string, string> }) as ServerAnswer;
    await expectSame(await place(flow(', batch: 10'), answer, rows), 1);
    await expectSame(await place(flow(''), answer, rows), 3);
  });

  test('serve uploads of the same file, and a changed file is sent', async () => {
    const flow = (origin: string) => `nodes:
  - { type: http, method: POST, url: "${origin}/up", form: { id: "{{id}}", document: { file: "{{id}}.txt" } }, map: { n: n } }
`;
    const work = await place(flow, (_, index) => ({ body: { n: index % 3 } }));
    for (const id of [1, 2, 3]) await work.write(`${id}.txt`, `text ${id}`);
    expect((await work.automate([...kept, '--concurrency', '1'])).code).toBe(0);
    const first = await work.read('out.csv');
    work.asked();
    expect((await work.automate(again)).code).toBe(0);
    expect([await work.read('out.csv'), work.asked()]).toEqual([first, []]);
    await work.write('2.txt', 'other');
    await work.automate(again);
    expect(work.asked()).toEqual(['POST /up']);
  });

  test('serve the steps of a first node, also inside a poll', async () => {
    const first = (origin: string) => `type: first
    until: has(email) && email != null
    found_by: source
    nodes:
      - { id: cheap, type: http, url: "${origin}/cheap/{{id}}", map: { email: email } }
      - { id: dear, type: http, url: "${origin}/dear/{{id}}", map: { email: email } }`;
    const answer: Answer = ({ path }) => {
      if (path === '/cheap/3') return { status: 404 };
      return { body: { email: path === '/cheap/1' || path.startsWith('/dear') ? `${path}@x` : null } };
    };
    const work = await place((origin) => `nodes:\n  - ${first(origin)}\n`, answer);
    await work.automate(kept);
    const [output, asked] = [await work.read('out.csv'), work.asked()];
    expect(asked).toHaveLength(5);
    // A failed answer is not kept.
    await work.automate(again);
    expect([await work.read('out.csv'), work.asked()]).toEqual([output, ['GET /cheap/3']]);

    let passes = 0;
    const poll = await place(
      (origin) => `nodes:
  - type: poll
    every: 1ms
    until: has(email) && email != null
    nodes:
      - ${first(origin).replaceAll('\n', '\n    ')}
`,
      ({ path }) => ({ body: { email: path.startsWith('/dear') && ++passes > 2 ? 'a@x' : null } }),
      'id\n1\n',
    );
    expect((await poll.automate(kept)).code).toBe(0);
    expect(poll.asked()).toHaveLength(6);
    const polled = await poll.read('out.csv');
    await poll.automate(again);
    expect([await poll.read('out.csv'), poll.asked()]).toEqual([polled, []]);
  });

  test('leave two equal webhooks two', async () => {
    const flow = (origin: string) => `nodes:
  - { id: one, type: http, method: POST, url: "${origin}/hook", body: { a: 1 }, map: { one: n } }
  - { id: two, type: http, method: POST, url: "${origin}/hook", body: { a: 1 }, map: { two: n } }
`;
    const work = await place(flow, (_, index) => ({ body: { n: index } }), 'id\n1\n1\n');
    await work.automate([...kept, '--concurrency', '1']);
    const first = await work.read('out.csv');
    expect(work.asked()).toHaveLength(4);
    expect(
      new Set(
        first
          .split('\n')
          .slice(1, 3)
          .flatMap((line) => line.split(',').slice(1)),
      ).size,
    ).toBe(4);
    await work.automate(again);
    expect([await work.read('out.csv'), work.asked()]).toEqual([first, []]);
  });

  test('keep their facts', async () => {
    const flow = (origin: string) =>
      `nodes: [{ type: http, url: "${origin}/{{id}}", map: { at: $at, ms: $ms, tries: $attempts, url: $url, cached: $cached }, retry: { backoff: 1ms } }]`;
    const seen = new Set<string>();
    const work = await place(flow, ({ path }) => {
      if (path === '/2' && !seen.has(path)) {
        seen.add(path);
        return { status: 500 };
      }
      return path === '/3' ? { status: 302, headers: { location: '/moved' } } : { body: {} };
    });
    expect((await work.automate(kept)).code).toBe(0);
    const first = await work.read('out.csv');
    expect(first).toMatch(/\n2,[^,]+,\d+,2,/);
    expect(first).toContain('/moved,false');
    await work.automate(again);
    expect(await work.read('out.csv')).toBe(first.replaceAll('false', 'true'));
    // A map that reads them later finds them, too.
    await work.write('flow.yaml', flow(work.origin).replace('at: $at, ms: $ms, ', ''));
    await work.automate([...kept, '--force']);
    work.asked();
    await work.write('flow.yaml', flow(work.origin));
    await work.automate(again);
    expect([work.asked(), await work.read('out.csv')]).toEqual([[], expect.stringMatching(/\n1,20[^,]+Z,\d+,1,[^,]+,true\n/)]);
  });

  test('are not for another connection, environment or credential', async () => {
    const flow = (credential: string) => (origin: string) =>
      `connections: { one: { type: http, base_url: "${origin}", auth: { type: bearer, credential: ${credential} } } }
nodes: [{ type: http, connection: one, url: "/{{id}}" }]
`;
    const env = { AUTOMATE_CREDENTIAL_A: 'secret-of-a', AUTOMATE_CREDENTIAL_B: 'secret-of-b', AUTOMATE_CREDENTIAL_A__STAGING: 'staging-a' };
    const work = await place(flow('a'), () => ({ body: {} }));
    await work.automate(kept, { env });
    work.asked();
    await work.automate(again, { env: { ...env, AUTOMATE_CREDENTIAL_A: 'new-secret-of-a' } });
    expect(work.asked()).toEqual([]);
    await work.automate([...again, '--env', 'staging'], { env });
    expect(work.asked()).toHaveLength(3);
    await work.write('flow.yaml', flow('b')(work.origin));
    await work.automate(again, { env });
    expect(work.asked()).toHaveLength(3);
    await work.write('flow.yaml', flow('b')(work.origin).replaceAll('one', 'two'));
    await work.automate(again, { env });
    expect(work.asked()).toHaveLength(3);
  });
});

describe('the requests of which an answer is kept', () => {
  test('are equal without the values of a session, which needs no login then', async () => {
    const flow = (origin: string) => `connections:
  own:
    type: http
    base_url: ${origin}
    auth:
      type: session
      login: { url: /login, body: { key: { credential: api } }, take: { token: body.token } }
      send: { headers: { X-Token: { session: token } } }
nodes:
  - { type: http, connection: own, method: POST, url: "/{{id}}", body: { token: { session: token }, id: "{{id}}" }, map: { n: n } }
`;
    const work = await place(flow, ({ path }, index) => ({ body: path === '/login' ? { token: `token-${index}-secret` } : { n: path } }));
    const env = { AUTOMATE_CREDENTIAL_API: 'a-long-secret' };
    expect((await work.automate(kept, { env })).code).toBe(0);
    expect(work.asked()).toHaveLength(4);
    expect((await work.automate(again, { env })).code).toBe(0);
    expect(work.asked()).toEqual([]);
  });

  test('can be equal at two nodes of a poll', async () => {
    const flow = (origin: string) => `nodes:
  - type: poll
    every: 1ms
    until: two >= 3
    nodes:
      - { id: one, type: http, url: "${origin}/job", map: { one: n } }
      - { id: two, type: http, url: "${origin}/job", map: { two: n } }
`;
    const work = await place(flow, (_, index) => ({ body: { n: index } }), 'id\n1\n');
    await work.automate(kept);
    expect(work.asked()).toHaveLength(4);
    const first = await work.read('out.csv');
    await work.automate(again);
    expect([await work.read('out.csv'), work.asked()]).toEqual([first, []]);
  });

  test('can be equal for all records, in any order', async () => {
    const rows = (count: number) => `id\n${Array.from({ length: count }, (_, index) => index).join('\n')}\n`;
    const flow = (origin: string) => `nodes: [{ type: http, method: POST, url: "${origin}/make", map: { n: n } }]`;
    const work = await place(flow, (_, index) => ({ body: { n: index } }), rows(300));
    await work.automate([...kept, '--skip', '150']);
    work.asked();
    await work.automate([...again, '--limit', '250']);
    expect(work.asked()).toHaveLength(100);
    const made = (await work.read('out.csv')).trim().split('\n').slice(1);
    expect(new Set(made.map((line) => line.split(',')[1])).size).toBe(250);
    await work.automate([...again, '--limit', '250']);
    expect(work.asked()).toEqual([]);
    expect((await work.read('out.csv')).trim().split('\n').slice(1)).toEqual(made);
  });
});

describe('kept answers of a run that was stopped', () => {
  const flow = (origin: string) => `nodes: [{ type: http, url: "${origin}/{{id}}", map: { n: n }, concurrency: 1 }]`;

  test('serve --resume', async () => {
    const rows = `id\n${Array.from({ length: 20 }, (_, index) => index).join('\n')}\n`;
    let isBroken = true;
    const work = await place(flow, ({ path }) => (isBroken && Number(path.slice(1)) > 9 ? { status: 401 } : { body: { n: path } }), rows);
    expect((await work.automate([...kept, '--max-errors', '2'])).code).toBe(5);
    isBroken = false;
    work.asked();
    // The records that have failed stay failed.
    expect((await work.automate([...kept, '--resume'])).code).toBe(4);
    const resumed = work.asked();
    expect((await work.automate([...again, '--report', 'report.html'])).code).toBe(0);
    expect([...resumed, ...work.asked()].sort()).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map((id) => `GET /${id}`));
    expect(await work.read('report.html')).toMatch(/ kept answers</);
  });

  test('serve a retry and an update', async () => {
    let isBroken = true;
    const two = (origin: string) => `nodes:
  - { type: http, url: "${origin}/a/{{id}}", map: { a: n } }
  - { type: http, url: "${origin}/b/{{id}}", map: { b: n } }
`;
    const work = await place(two, ({ path }) => (isBroken && path === '/b/2' ? { status: 404 } : { body: { n: path } }));
    expect((await work.automate([...kept, '--update'])).code).toBe(4);
    isBroken = false;
    work.asked();
    expect((await work.automate(['retry', 'out.csv'])).code).toBe(0);
    // The first node's answer is kept.
    expect(work.asked()).toEqual(['GET /b/2']);
    await work.write('rows.csv', 'id\n0\n1\n2\n3\n');
    expect((await work.automate([...kept, '--update'])).code).toBe(0);
    expect(work.asked()).toEqual(['GET /a/0', 'GET /b/0']);
    await work.write('flow.yaml', two(work.origin).replace('map: { b: n }', 'map: { b: n, c: n }'));
    expect((await work.automate([...kept, '--update'])).code).toBe(0);
    expect([work.asked(), await work.read('out.csv')]).toEqual([[], expect.stringContaining('\n2,/a/2,/b/2,/b/2\n')]);
  });

  test('work with workers and an update', async () => {
    const rows = `id\n${Array.from({ length: 50 }, (_, index) => index).join('\n')}\n`;
    const work = await place(flow, ({ path }) => ({ body: { n: path } }), rows);
    expect((await work.automate([...kept, '--workers', '2', '--update'])).code).toBe(0);
    expect(work.asked()).toHaveLength(50);
    await work.write('flow.yaml', flow(work.origin).replace('n: n', 'n: n, m: n'));
    const { code, stderr } = await work.automate([...kept, '--workers', '2', '--update']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('  50 answers were kept: 0 requests')]);
    expect([work.asked(), (await work.files()).filter((name) => name.includes('answers'))]).toEqual([[], ['out.csv.automate-answers']]);
  });
});

describe('the limits of kept answers', () => {
  const flow = (origin: string) => `nodes: [{ type: http, url: "${origin}/{{id}}", map: { n: n } }]`;

  test('--max-kept ends the keeping with a warning, and the run continues', async () => {
    const rows = `id\n${Array.from({ length: 40 }, (_, index) => index).join('\n')}\n`;
    const noise = Array.from({ length: 4000 }, (_, index) => (index * 7919) % 65536).join('.');
    const work = await place(flow, ({ path }) => ({ body: { n: path, noise: noise + path } }), rows);
    const { code, stderr } = await work.automate([...kept, '--max-kept', '100kB', '--concurrency', '2']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('warning: answers are no longer kept: ')]);
    expect(stderr).toContain('has reached its maximum of 100 kB');
    expect(stderr).toMatch(/ {2}not kept: \d+ answers, because/);
    work.asked();
    await work.automate(again);
    const missing = work.asked().length;
    expect(missing).toBeGreaterThan(0);
    expect(missing).toBeLessThan(40);
  });

  test('an age asks again only for older answers', async () => {
    const work = await place(flow, ({ path }, index) => ({ body: { n: `${path} ${index}` } }));
    await work.automate(kept);
    work.asked();
    await work.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--keep-answers', '30d', '--replace']);
    expect(work.asked()).toEqual([]);
  });

  test.each(['soon', '-1d'])('an age of %s is refused', async (age) => {
    const work = await place(flow, () => ({}));
    const { code, stderr } = await work.automate([...kept.slice(0, -1), `--keep-answers=${age}`]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('a duration with its unit, such as 30d')]);
    expect(await work.files()).toEqual(['flow.yaml', 'rows.csv']);
  });
});
