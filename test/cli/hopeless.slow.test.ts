import { describe, expect, test } from 'vitest';
import { answeringServer, type ServerAnswer } from '../helpers/answering-server.ts';
import { askingFlow, idRows } from '../helpers/asking.ts';
import { type Finished, type Workplace, workplace } from '../helpers/cli.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--errors', 'failed.csv', '--concurrency', '1'];
const token = { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'Secr3t-of-crm' };
const bearer = ', auth: { type: bearer, credential: crm-token }';

/** Runs a flow over 50 records. `answer` returns the response to a request; the index of the first request is 0. */
async function against(
  answer: (index: number) => ServerAnswer,
  { more = '', args = [] }: { more?: string; args?: readonly string[] } = {},
): Promise<Finished & { place: Workplace; sent(): number }> {
  const server = await answeringServer((_, index) => answer(index));
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, more), 'rows.csv': idRows(50) });
  return { ...(await place.automate([...run, ...args], { env: token })), place, sent: () => server.requests.length };
}

const lines = (text: string) => text.trim().split('\n').length;

describe('a run whose first 20 records all fail with the same error', () => {
  const resume =
    'once that is solved, resume with (--keep-going turns this stop off):\n    automate run flow.yaml --in rows.csv --out out.csv';

  test.each([401, 403])('stops and suggests checking the credential if the status is %i', async (status) => {
    const { code, stderr, place, sent } = await against(() => ({ status }), { more: bearer });
    expect([code, sent()]).toEqual([5, 20]);
    expect(stderr).toContain(`reason: the first 20 records all failed at ask with http ${status}\n`);
    expect(stderr).toContain('the server refused the credential; see which one is used:\n    automate credentials show crm-token\n');
    expect(stderr).toContain(resume);
    expect(lines(await place.read('failed.csv'))).toBe(21);
  });

  const page = { body: '<html>', headers: { 'content-type': 'text/html' } };

  test.each<[string, ServerAnswer, string, more?: string]>([
    ['401 without a credential', { status: 401 }, 'check auth, which sends no credential, and url of ask'],
    ['405', { status: 405 }, 'check method and url of ask'],
    ['415', { status: 415 }, 'check body and Content-Type of ask'],
    ['text that is not JSON', page, 'check url and response of ask'],
    ['text that is not JSON, with a credential', page, 'check auth, url and response of ask', bearer],
  ])('stops and suggests test-request if the failure is "%s"', async (_, answer, advice, more) => {
    const { code, stderr, sent } = await against(() => answer, { more });
    expect([code, sent()]).toEqual([5, 20]);
    expect(stderr).toContain(`${advice}; try one request with:\n    automate test-request flow.yaml --in rows.csv --node ask\n`);
    expect(stderr).toContain(resume);
  });

  test('prints a command that starts over once the flow is corrected', async () => {
    const { stderr, place } = await against((index) => (index < 20 ? { status: 405 } : { body: { name: 'n' } }));
    expect(stderr).toContain('if you change the flow, start over with:\n');
    const [, line = ''] = /start over with:\n {4}automate (.*)/.exec(stderr) ?? [];
    await place.write('flow.yaml', (await place.read('flow.yaml')).replace('type: http', 'type: http, method: POST'));
    expect((await place.automate(line.split(' '))).code).toBe(0);
    expect(lines(await place.read('out.csv'))).toBe(51);
  });

  test("suggests a command with the credential's environment", async () => {
    const { stderr } = await against(() => ({ status: 401 }), { more: bearer, args: ['--env', 'staging'] });
    expect(stderr).toContain('automate credentials set crm-token --env staging\n');
  });

  test('can be resumed, and then processes the remaining records', async () => {
    const { place } = await against((index) => (index < 20 ? { status: 401 } : { body: { name: 'n' } }), { more: bearer });
    expect(await place.automate([...run, '--resume'], { env: token })).toMatchObject({ code: 4 });
    expect([lines(await place.read('out.csv')), lines(await place.read('failed.csv'))]).toEqual([31, 21]);
  });

  test('continues to the end of the input with --keep-going', async () => {
    const { code, sent, place } = await against(() => ({ status: 401 }), { more: bearer, args: ['--keep-going'] });
    expect([code, sent(), lines(await place.read('failed.csv'))]).toEqual([4, 50, 51]);
  });

  test.each<[string, (index: number) => ServerAnswer]>([
    ['status 404', () => ({ status: 404 })],
    ['only 19 equal failures', (index) => (index === 19 ? { body: { name: 'n' } } : { status: 401 })],
  ])('is not stopped early in this case: %s', async (_, answer) => {
    expect(await against(answer)).toMatchObject({ code: 4 });
  });

  test('reports why it ended in --summary', async () => {
    const { place } = await against(() => ({ status: 401 }), { args: ['--summary', 's.json'] });
    expect(JSON.parse(await place.read('s.json'))).toMatchObject({
      ...{ ending: 'same-failure', exit_code: 5, failed: 20 },
      reason: 'the first 20 records all failed at ask with http 401',
    });
  });
});

describe('a run whose server never responds', () => {
  const flow = (more = '') => askingFlow('http://127.0.0.1:1', more);

  test('stops after ten attempts, without failing any record', async () => {
    const place = await workplace({ 'flow.yaml': flow(), 'rows.csv': idRows(50) });
    const { code, stderr } = await place.automate([...run, '--concurrency', '16']);
    expect(code).toBe(5);
    expect(stderr).toContain('reason: none of the first 10 attempts was answered: http://127.0.0.1:1: ');
    expect(stderr).toContain(
      'check the address, the network and the proxy; try one request with:\n    automate test-request flow.yaml --in rows.csv --node ask\n',
    );
    expect(await place.files()).not.toContain('failed.csv');
    const server = await answeringServer(() => ({ body: { name: 'n' } }));
    expect(await place.automate([...run, '--resume'])).toMatchObject({ code: 5 });
    await place.write('flow.yaml', askingFlow(server.origin));
    expect(await place.automate([...run, '--force'])).toMatchObject({ code: 0 });
  });

  test('continues to the end of the input with --keep-going', async () => {
    const place = await workplace({ 'flow.yaml': flow(', retry: { max: 0 }'), 'rows.csv': idRows(50) });
    expect(await place.automate([...run, '--keep-going'])).toMatchObject({ code: 4 });
    expect(lines(await place.read('failed.csv'))).toBe(51);
  });
});

describe('a run with a dead server whose failures are passed through', () => {
  const dead = 'http://127.0.0.1:1';
  const first = (more = '') =>
    `{ type: http, id: first, url: "${dead}/{{id}}", on_error: keep, retry: { max: 0 }, map: { name: name } ${more} }`;
  const second = (origin: string, more = '') =>
    `{ type: http, id: second, url: "${origin}/{{id}}", when: has(_error), retry: { max: 0 }, map: { name: name } ${more} }`;

  /** Runs a flow over 30 records. The server answers all requests. */
  async function over(nodes: (origin: string) => readonly string[], args: readonly string[] = []) {
    const server = await answeringServer(() => ({ body: { name: 'n' } }));
    const flow = `nodes: [${nodes(server.origin).join(', ')}]\n`;
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': idRows(30) });
    return { ...(await place.automate([...run, ...args])), place, sent: server.requests.length };
  }

  const warning = `warning: ${dead} was never reached: none of 30 attempts was answered\n`;

  test.each([[[]], [['--concurrency', '16']], [['--workers', '2']]])(
    'continues to the end if another server answers (%j)',
    async (args) => {
      const { code, stderr, sent, place } = await over((origin) => [first(), second(origin)], [...args, '--summary', 's.json']);
      expect([code, sent, lines(await place.read('out.csv'))]).toEqual([0, 30, 31]);
      expect(stderr).toContain(`  ${warning}    ${dead}: the connection was refused`);
      expect(JSON.parse(await place.read('s.json'))).toMatchObject({
        unanswered: [{ origin: dead, attempts: 30, message: expect.stringContaining('refused') }],
      });
    },
  );

  test('says with --quiet which server was never reached', async () => {
    const { code, stderr } = await over((origin) => [first(), second(origin)], ['--quiet']);
    expect([code, stderr]).toEqual([0, `${warning}  ${dead}: the connection was refused (ECONNREFUSED)\n`]);
  });

  test.each([
    [
      'in a batch',
      (origin: string) => [
        `{ type: http, id: first, url: "${dead}/all", method: POST, body: { ids: "{{items}}" }, batch: { size: 10, items: "{{id}}" }, on_error: keep, retry: { max: 0 }, map: { name: name } }`,
        second(origin),
      ],
      3,
    ],
    [
      'inside a loop that passes failures through',
      (origin: string) => [
        `{ type: loop, while: "false", max: 1, on_error: keep, nodes: [${first().replace('on_error: keep, ', '')}] }`,
        second(origin),
      ],
      30,
    ],
  ])('counts the attempts of a node %s', async (_, nodes, attempts) => {
    const { code, stderr } = await over(nodes, ['--quiet']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`none of ${attempts} attempts was answered`)]);
  });

  test('stops early if the server of a node that fails the records is dead, too', async () => {
    const { code, stderr } = await over(() => [first(), second('http://127.0.0.1:2')]);
    expect(code).toBe(5);
    expect(stderr).toContain('reason: none of the first 10 attempts was answered: http://127.0.0.1:2: ');
    expect(stderr).toContain(`warning: ${dead} was never reached: `);
  });

  test('stops early if only the server of the node that fails the records is dead', async () => {
    const server = await answeringServer(() => ({ body: {} }));
    const { code, stderr } = await over(() => [
      first().replace(dead, server.origin),
      second('http://127.0.0.1:2').replace('when: has(_error), ', ''),
    ]);
    expect(code).toBe(5);
    expect(stderr).toContain('reason: none of the first 10 attempts was answered: http://127.0.0.1:2: ');
  });

  test('does not call a server unreached if it answers at another node, or with an error', async () => {
    const server = await answeringServer(() => ({ status: 500 }));
    const refused = (origin: string) => first().replace(dead, origin);
    const { code, stderr } = await over((origin) => [refused(server.origin), second(origin)], ['--quiet']);
    expect([code, stderr]).toEqual([0, '']);
  });
});

test('the --keep-going option does not accept a value', async () => {
  const place = await workplace({ 'flow.yaml': askingFlow('http://127.0.0.1:1'), 'rows.csv': idRows(1) });
  const { code, stderr } = await place.automate([...run, '--keep-going=yes']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--keep-going')]);
  expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
});
