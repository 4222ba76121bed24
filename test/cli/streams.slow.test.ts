import { expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';
import { shell } from '../helpers/shell.ts';

const run = ['run', 'flow.yaml', '--in', '-', '--in-format', 'ndjson'];

const two = '{"id":1}\n{"id":2}\n';
const done = '{"id":1,"name":"n/1"}\n{"id":2,"name":"n/2"}\n';

/** Starts a run whose stdin remains open after its first lines. */
async function startWaiting(stdin: string, ...args: string[]) {
  let seen: (() => void) | undefined;
  const answered = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const server = await answeringServer(({ path }) => {
    if (path === '/2') seen?.();
    return { body: { name: `n${path}` } };
  });
  const place = await workplace({ 'flow.yaml': `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: [name] }]` });
  return { ...place.start([...run, ...args], { stdin, keepStdin: true }), answered, place };
}

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends a run that is waiting for input', async (signal) => {
  const { child, finished, answered, place } = await startWaiting(two, '--out', 'out.ndjson');
  await answered;
  child.kill(signal);
  expect((await finished).code).toBe(signal === 'SIGINT' ? 130 : 143);
  expect(await place.read('out.ndjson')).toBe(done);
});

test('a run writes finished records while it waits for more input', async () => {
  const { child, finished } = await startWaiting(two);
  let written = '';
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (text) => {
      written += text;
      if (written === done) resolve();
    });
  });
  child.stdin?.end('{"id":3}\n');
  expect(await finished).toMatchObject({ code: 0 });
  expect(written).toBe(`${done}{"id":3,"name":"n/3"}\n`);
});

test('a closed stdout ends a run that is waiting for input', async () => {
  const { child, finished } = await startWaiting(two);
  child.stdout?.once('data', () => {
    child.stdout?.destroy();
    child.stdin?.write('{"id":3}\n{"id":4}\n');
  });
  const { code, stderr } = await finished;
  expect([code, stderr]).toEqual([141, '']);
});

test('SIGHUP from a closed terminal ends a waiting run after its finished records are written', async () => {
  const { child, finished, answered, place } = await startWaiting(two, '--out', 'out.ndjson', '--summary', 's.json');
  await answered;
  child.stderr?.destroy();
  child.kill('SIGHUP');
  expect((await finished).code).toBe(129);
  expect(await place.read('out.ndjson')).toBe(done);
  expect(JSON.parse(await place.read('s.json'))).toMatchObject({ ending: 'interrupted', exit_code: 129, read: 2 });
  expect(await place.files()).not.toContain('out.ndjson.automate-lock');
});

test('a run that is waiting for input ends when the credits in --max-credits are spent', async () => {
  const { finished, answered } = await startWaiting(`${two}{"id":3}\n`, '--max-credits', '2');
  await answered;
  expect(await finished).toMatchObject({ code: 5, stdout: done });
});

test.each([
  ['--in <(cat rows.csv)', 'flow.errors.csv'],
  ['--in <(cat rows.csv) --out out/all.csv', 'out/all.errors.csv'],
  ['--in /proc/self/fd/0 < <(cat rows.csv)', 'flow.errors.csv'],
  ['--in /dev/stdin < rows.csv', 'flow.errors.csv'],
  ['--in pipe.csv < <(cat rows.csv > pipe.csv)', 'flow.errors.csv'],
])('`automate run` %s names its errors file after the output or the flow', async (input, errors) => {
  const flow = 'nodes: [{ type: set, fields: { n: { cel: "int(id)" } } }]';
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'id\n1\nx\n' });
  const { code, stderr } = await shell(place, `mkdir out; mkfifo pipe.csv; automate run flow.yaml --in-format csv ${input}`);
  expect([code, stderr]).toEqual([4, expect.stringContaining(`  errors: ${errors} (1 record)\n`)]);
  expect(await place.read(errors)).toMatch(/\nx,set-1,/);
});

test.each([[], ['--force']])('--errors - writes to stdout, not to a file named "-", with the options %j', async (...force) => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: set, fields: { n: { cel: "int(id)" } } }]',
    'in.csv': 'id\nx\n',
    '-': 'precious',
  });
  const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--errors', '-', ...force]);
  expect([code, await place.read('-')]).toEqual([4, 'precious']);
  expect(stdout).toMatch(/^id,_error_node,/);
});
