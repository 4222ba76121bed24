import { describe, expect, test } from 'vitest';
import { noticeConditions, noticeTargets, usualConditions } from '../../src/core/notice.ts';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const canary = 'canary-4711';

/** A folder with a flow of which each second record fails, and a server that notices and records are sent to. */
async function noticed() {
  const server = await answeringServer(({ path }) => {
    if (path.startsWith('/hook')) return { status: 200 };
    return /[13579]$/.test(path) ? { status: 404, body: { error: canary } } : { body: { name: canary } };
  });
  const flow = `nodes: [{ id: ask, type: http, url: "${server.origin}/{{id}}", map: { name: name }, retry: { max: 0 } }]\n`;
  const rows = `id,note\n${[1, 2, 3, 4].map((id) => `${id},${canary}\n`).join('')}`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': rows, 'even.csv': 'id\n2\n4\n', 'broken.csv': `id\n"${canary}` });
  const env = { AUTOMATE_CREDENTIAL_OPS: `${server.origin}/hook/s3cret?key=k3y`, AUTOMATE_CREDENTIAL_FAR: 'http://example.com/x' };
  const run = (...args: string[]) => place.automate(['run', 'flow.yaml', '--out', 'out.csv', ...args], { env });
  const notices = () =>
    server.requests.filter(({ path }) => path.startsWith('/hook')).map(({ method, path, body }) => [method, path, body]);
  return { place, env, run, notices };
}

describe('--notify', () => {
  test('says how a run has ended, without values of records and texts of answers', async () => {
    const { run, notices } = await noticed();
    const { code, stderr } = await run('--in', 'rows.csv', '--notify', 'slack:OPS', '--notify', 'webhook:OPS', '--notify', 'ping:OPS');
    expect(code).toBe(4);
    const [, , ping] = notices().toSorted((a, b) => String(b[0]).localeCompare(String(a[0])));
    expect(ping).toEqual(['GET', '/hook/s3cret/fail?key=k3y', '']);
    const bodies = notices().flatMap(([method, , body]) => (method === 'POST' ? [JSON.parse(body as string)] : []));
    const text = bodies.find((body) => 'text' in body).text as string;
    expect(text).toMatch(
      /^flow\.yaml on \S+: done: 4 read, 2 written, 2 failed in .*\n {2}ask {2}http 404: 2 records\ncontinue: automate retry out\.csv$/,
    );
    const [, took] = /^done: .* in (.*) \(/.exec(stderr) ?? [];
    expect(text).toContain(`2 failed in ${took}\n`);
    expect(bodies.find((body) => 'state' in body)).toMatchObject({
      state: 'finished',
      exit_code: 4,
      read: 4,
      failed: 2,
      failures: [{ node: 'ask', class: 'http', status: 404, count: 2 }],
      next: ['automate retry out.csv'],
    });
    expect(JSON.stringify(notices())).not.toContain(canary);
    expect(stderr).not.toMatch(/s3cret|k3y/);
  });

  test('has the counts of a run that an error has ended', async () => {
    const { run, notices, place } = await noticed();
    await place.write('cut.csv', `id,note\n2,a\n4,b\n6,"${canary}`);
    const { code } = await run('--in', 'cut.csv', '--notify', 'slack:OPS', '--notify', 'webhook:OPS');
    expect(code).toBe(6);
    const bodies = notices().map(([, , body]) => JSON.parse(body as string));
    expect(bodies.find((body) => 'text' in body).text).toMatch(
      /^flow\.yaml on \S+: ended by an error \(the input cannot be read\): 2 read, 2 written, 0 failed in /,
    );
    expect(bodies.find((body) => 'state' in body)).toMatchObject({ state: 'failed', exit_code: 6, read: 2, written: 2 });
    expect(JSON.stringify(notices())).not.toContain(canary);
  });

  test('says that too many records are gone, and otherwise counts them', async () => {
    const { run, notices, place } = await noticed();
    const gone = ['--update', '--gone', 'gone.csv', '--gone-key', 'id', '--notify', 'slack:OPS', '--notify', 'webhook:OPS'];
    await place.write('now.csv', 'id\n2\n4\n6\n8\n');
    expect((await run('--in', 'now.csv', ...gone)).code).toBe(0);
    await place.write('now.csv', 'id\n2\n');
    expect((await run('--in', 'now.csv', ...gone)).code).toBe(5);
    const text = notices().flatMap(([, , body]) => JSON.parse(body as string).text ?? [])[0];
    expect(text).toMatch(/^flow\.yaml on \S+: too many records are gone from the input, so nothing is replaced \(exit code 5\)$/);
    expect((await run('--in', 'now.csv', ...gone, '--max-gone', '3', '--notify-if', 'always')).code).toBe(0);
    const summary = JSON.parse(notices().at(-1)?.[2] as string).gone ?? JSON.parse(notices().at(-2)?.[2] as string).gone;
    expect(summary).toMatchObject({ records: 3, of: 4, file: 'gone.csv' });
  });

  test('is silent about a good run, except for ping and with always', async () => {
    const { run, notices } = await noticed();
    await run('--in', 'even.csv', '--notify', 'slack:OPS', '--notify', 'ping:OPS');
    expect(notices()).toEqual([['GET', '/hook/s3cret?key=k3y', '']]);
    await run('--in', 'even.csv', '--force', '--notify', 'slack:OPS', '--notify-if', 'always');
    expect(notices()).toHaveLength(2);
  });

  test.each([
    [['--in', 'broken.csv'], 6, 'the input cannot be read'],
    [['--in', 'none.csv'], 6, 'the input cannot be read'],
    [['--in', 'rows.csv', '--resume', '--force'], 2, 'the command line is wrong'],
  ])('tells if a run could not start: %j', async (args, code, reason) => {
    const { run, notices } = await noticed();
    expect((await run(...args, '--notify', 'slack:OPS')).code).toBe(code);
    expect(notices()).toHaveLength(1);
    expect(JSON.stringify(notices())).toContain(reason);
    expect(JSON.stringify(notices())).not.toContain(canary);
  });

  test('can be in AUTOMATE_NOTIFY, also for a retry', async () => {
    const { place, env, run, notices } = await noticed();
    await run('--in', 'rows.csv');
    const variable = { ...env, AUTOMATE_NOTIFY: ' slack:OPS  ping:OPS ' };
    expect((await place.automate(['retry', 'out.csv'], { env: variable })).code).toBe(4);
    expect(
      notices()
        .map(([method]) => method)
        .toSorted(),
    ).toEqual(['GET', 'POST']);
    const wrong = await place.automate(['retry', 'out.csv'], { env: { ...env, AUTOMATE_NOTIFY: 'slak:OPS' } });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('AUTOMATE_NOTIFY: expected KIND:CREDENTIAL') });
  });

  test.each([
    ['slack:FAR', 'expected an address that begins with https://, found http://'],
    ['slack:NONE', 'there is no credential "NONE"\nstore it: automate credentials set NONE\n'],
  ])('%s is a warning, and changes nothing', async (target, message) => {
    const { run } = await noticed();
    const { code, stderr } = await run('--in', 'even.csv', '--notify', target, '--notify-if', 'always');
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: the notice ${target} cannot be sent: `)]);
    expect(stderr).toContain(message);
  });

  test('sends a test message with automate notify', async () => {
    const { place, env, notices } = await noticed();
    expect(await place.automate(['notify', 'slack:OPS'], { env })).toMatchObject({ code: 0, stderr: 'sent a test message to slack:OPS\n' });
    expect(notices()).toHaveLength(1);
    expect((await place.automate(['notify', 'mail:OPS'], { env })).code).toBe(2);
    expect((await place.automate(['notify', 'slack:NONE'], { env })).code).toBe(7);
  });
});

test.each([
  ['failed', { failed: 1, read: 9 }, true],
  ['failed', { failed: 0, read: 9 }, false],
  ['failed>1%', { failed: 1, read: 100 }, false],
  ['failed>1%', { failed: 2, read: 100 }, true],
  ['failed>10', { failed: 10, read: 100 }, false],
  ['failed>10', { failed: 11, read: 100 }, true],
  ['stopped', { exitCode: 5 }, true],
  ['stopped', { exitCode: 4, failed: 3 }, false],
  ['stopped', { exitCode: 143 }, true],
  ['read=0', { read: 0 }, true],
  ['read=0', {}, false],
  ['took>30m', { ms: 1_800_001 }, true],
  ['took>30m', { ms: 1_800_000 }, false],
  ['read=0, always', { read: 5 }, true],
])('the condition %s of a notice, with %j, is %s', (text, ended, due) => {
  const conditions = noticeConditions.parse(text) ?? [];
  expect(conditions.some((condition) => condition({ exitCode: 0, ms: 1, ...ended }))).toBe(due);
});

test.each(['fail', 'failed>', 'failed>x', 'took>', 'took>soon', '', 'failed,,stopped', 'toString'])(
  '%j is no condition of a notice',
  (text) => {
    expect(noticeConditions.parse(text)).toBeUndefined();
  },
);

test('by default, failed records and a run that was stopped are told', () => {
  const isDue = (exitCode: number, failed: number) => usualConditions.some((condition) => condition({ exitCode, failed, ms: 1 }));
  expect([isDue(0, 0), isDue(4, 1), isDue(5, 0)]).toEqual([false, true, true]);
  expect(noticeTargets.parse('ping:a b')).toBeUndefined();
});
