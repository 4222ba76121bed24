import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';

/** `cheap` knows odd ids, and `dear` fails for every fourth one and does not know every tenth. */
async function placeWith(more: Readonly<Record<string, string>> = {}, cheapStatus = 200) {
  const server = await answeringServer(({ path }) => {
    const [, source, text] = path.split('/');
    const id = Number(text);
    if (source === 'cheap') return cheapStatus === 200 ? { body: id % 2 ? { mail: `c${id}` } : {} } : { status: cheapStatus };
    if (id % 4 === 0) return { status: 404 };
    return { body: id % 10 ? { mail: `d${id}`, score: id } : {} };
  });
  const step = (id: string, map: string, credits: number) =>
    `      - { id: ${id}, type: http, url: "${server.origin}/${id}/{{id}}", map: { ${map} }, credits: ${credits}, concurrency: 1 }\n`;
  const flow = `nodes:
  - type: first
    until: has(mail) && mail != ""
    found_by: source
    nodes:
${step('cheap', 'mail: mail', 1)}${step('dear', 'mail: mail, score: score', 10)}`;
  const rows = `id,mail\n${Array.from({ length: 12 }, (_, index) => `${index + 1},\n`).join('')}13,own\n`;
  return { server, flow, place: await workplace({ 'flow.yaml': flow, 'rows.csv': rows, ...more }) };
}

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const line = 'first-1: cheap found 6 of 12, dear 2 of 6 (3 failed); 4 not found; 1 needed none';

const found = `id,mail,score,source
1,c1,,cheap
2,d2,2,dear
3,c3,,cheap
4,,,
5,c5,,cheap
6,d6,6,dear
7,c7,,cheap
8,,,
9,c9,,cheap
10,,,
11,c11,,cheap
12,,,
13,own,,input
`;

const ids = (place: Workplace, file: string) => place.read(file).then((text) => text.split('\n').slice(1, -1));

describe('a run with a first node', () => {
  test('has the same figures in the summary, in --summary, in the events and in the report', async () => {
    const { place } = await placeWith();
    const { code, stderr } = await place.automate([...run, '--summary', 'sum.json', '--report', 'run.html', '--events', 'events.ndjson']);
    expect([code, await place.read('out.csv')]).toEqual([0, found]);
    expect(stderr).toContain(`\n  ${line}\n`);
    const { searches } = JSON.parse(await place.read('sum.json'));
    const steps = [
      { step: 'cheap', asked: 12, found: 6, failed: 0, credits: 12, cost: null },
      { step: 'dear', asked: 6, found: 2, failed: 3, credits: 60, cost: null },
    ];
    expect(searches).toEqual([{ node: 'first-1', known: 1, not_found: 4, steps }]);
    const events = (await place.read('events.ndjson')).split('\n').filter((text) => text.includes('"searched"'));
    expect(events).toHaveLength(13);
    const report = (await place.read('run.html')).replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    expect(report).toContain('4 not found, 1 needed none');
    expect(report).toMatch(/cheap 6 of 12 0 12 .*dear 2 of 6 3 60 /);
  });

  test('has the same result with workers', async () => {
    const { place } = await placeWith();
    const { code, stderr } = await place.automate([...run, '--workers', '2']);
    expect([code, await place.read('out.csv')]).toEqual([0, found]);
    expect(stderr).toContain(`\n  ${line}\n`);
  });

  test.each([[[]], [['--workers', '2']]])('ends if a step can only fail, and names the step (%j)', async (more) => {
    const rows = `id\n${Array.from({ length: 500 }, (_, index) => `${index * 4 + 1}\n`).join('')}`;
    const { place, server } = await placeWith({ 'rows.csv': rows }, 401);
    const { code, stderr } = await place.automate([...run, ...more]);
    expect(code).toBe(5);
    expect(stderr).toContain('stopped: cheap can only fail: ');
    expect(stderr).toContain('reason: the first 20 records all failed at cheap with http 401');
    expect(stderr).toContain('automate test-request flow.yaml --in rows.csv --node cheap');
    expect(server.requests.filter(({ path }) => path.startsWith('/dear')).length).toBeLessThan(60);
  });

  test('says what the plan costs at least and at most', async () => {
    const { place } = await placeWith();
    const { stdout } = await place.automate([...run, '--dry-run']);
    expect(stdout).toContain('actions:   12 at least, 12 expected, 24 at most');
    expect(stdout).toContain('credits:   12 at least, 12 expected, 132 at most');
    expect(stdout).toContain('the first step of each first finds everything');
    expect(stdout).not.toContain('each loop and poll has one pass');
  });

  test('tests one step, without the steps before it', async () => {
    const { place, server } = await placeWith();
    const { code, stdout, stderr } = await place.automate([
      'test-request',
      'flow.yaml',
      '--in',
      'rows.csv',
      '--record',
      '2',
      '--node',
      'dear',
    ]);
    expect([code, server.requests.map(({ path }) => path)]).toEqual([0, ['/dear/2']]);
    expect(stdout).toContain('d2');
    expect(stderr).not.toContain('running node');
  });

  test('runs only changed records again with --update', async () => {
    const { place, server } = await placeWith();
    await place.automate([...run, '--update']);
    const before = server.requests.length;
    await place.write('rows.csv', `${(await place.read('rows.csv')).replace('4,\n', '4,own4\n')}14,\n`);
    const { code } = await place.automate([...run, '--update']);
    expect([code, server.requests.slice(before).map(({ path }) => path)]).toEqual([0, ['/cheap/14', '/dear/14']]);
    expect(await ids(place, 'out.csv')).toContain('4,own4,,input');
  });

  test('runs in tests of flows, in which a missing answer is a failure of the test', async () => {
    const flowTest = (answers: string) => `flow: flow.yaml
tests:
  - name: asks the dear source
    record: { id: 2, mail: "" }
    answers:
      - { request: GET {{origin}}/cheap/2, body: {} }
${answers}    rows_exactly: [{ id: 2, mail: d2, score: 1, source: dear }]
`;
    const { place, server } = await placeWith();
    const dear = '      - { request: GET {{origin}}/dear/2, body: { mail: d2, score: 1 } }\n';
    const written = (answers: string) =>
      flowTest(answers)
        .replaceAll('{{origin}}', server.origin)
        .replace(/(request: )(GET \S+),/g, '$1"$2",');
    await place.write('flow.test.yaml', written(dear));
    expect((await place.automate(['test', 'flow.test.yaml'])).code).toBe(0);
    await place.write('flow.test.yaml', written(''));
    const { code, stdout, stderr } = await place.automate(['test', 'flow.test.yaml']);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('/dear/2');
  });

  test('does not warn that a step replaces the column that it is asked for, but warns of others', async () => {
    const { place, flow } = await placeWith({ 'rows.csv': 'id,mail,score\n1,,5\n' });
    const { stderr } = await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv']);
    expect(stderr).not.toContain('"mail" is a column of the input');
    expect(stderr).toContain('"score" is a column of the input');
    expect(flow).toContain('has(mail)');
  });

  test('lists failed records of a required search, which a retry asks again', async () => {
    const { place, flow, server } = await placeWith();
    await place.write('flow.yaml', flow.replace('found_by: source', 'found_by: source\n    required: true'));
    expect((await place.automate(run)).code).toBe(4);
    const errors = await place.read('out.errors.csv');
    expect(errors).toMatch(/^4,,first-1,http,404,"?dear: the server answered 404/m);
    expect(errors).toMatch(/^10,,first-1,answer,,"?none of cheap, dear found it/m);
    const before = server.requests.length;
    await place.automate(['retry', 'out.csv']);
    expect(server.requests.slice(before).filter(({ path }) => path === '/cheap/10')).toHaveLength(1);
  });
});
