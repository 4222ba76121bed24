import { symlink, utimes } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer } from '../helpers/asking.ts';
import type { Finished } from '../helpers/cli.ts';
import { count, leftBehind, placeFor, run } from '../helpers/resuming.ts';
import { shell } from '../helpers/shell.ts';

describe('lock of an output', () => {
  test('refuses a second run with the process of the first', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const { child, finished } = place.start(run);
    const second = new Promise<Finished>((resolve) => server.after(100, () => resolve(place.automate([...run, '--force']))));
    const { code, stderr } = await second;
    expect(code).toBe(73);
    expect(stderr).toContain(`out.csv is being written by another run (process ${child.pid})`);
    expect((await finished).code).toBe(4);
  });

  test('refuses a resumed run whose errors file was made by somebody else', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const { child, finished } = place.start(run);
    server.after(3, () => child.kill('SIGKILL'));
    await finished;
    server.after(0, () => {});
    await place.write('out.errors.csv', 'precious');
    const { code, stderr } = await place.automate([...run, '--resume']);
    expect(code).toBe(73);
    expect(stderr).toMatch(/out\.errors\.csv exists already/);
    expect(await place.read('out.errors.csv')).toBe('precious');
  });

  test('refuses a run whose output is a link to the same file', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    await place.write('out.csv', '');
    await symlink('out.csv', place.path('link.csv'));
    const { finished } = place.start([...run, '--force']);
    const linked = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'link.csv', '--errors', 'other.csv', '--force'];
    const second = await new Promise<Finished>((resolve) => server.after(100, () => resolve(place.automate(linked))));
    expect([second.code, second.stderr]).toEqual([73, expect.stringMatching(/out\.csv is being written by another run/)]);
    expect((await finished).code).toBe(4);
  });

  test('lets a run resume whose output is a link, and refuses its target as errors file', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    await symlink('out.csv', place.path('link.csv'));
    const linked = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'link.csv'];
    // A link that leads nowhere is refused.
    await place.write('out.csv', '');
    const twice = await place.automate([...linked, '--errors', 'out.csv']);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('the errors file out.csv is the output')]);
    expect((await place.automate([...linked, '--force', '--max-credits', '100'])).code).toBe(5);
    expect((await place.automate([...linked, '--resume'])).code).toBe(4);
    expect((await place.read('out.csv')).trim().split('\n').length - 1).toBe(count - Math.floor(count / 7));
    expect(await leftBehind(place)).toEqual([]);
  });

  test('lets only one of two runs with the same errors file continue', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const codes = await Promise.all(
      ['a.csv', 'b.csv'].map(
        async (out) => (await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', out, '--errors', 'e.csv'])).code,
      ),
    );
    expect(codes.sort()).toEqual([4, 73]);
    const failed = (await place.read('e.csv')).trim().split('\n').length - 1;
    expect(failed).toBe(Math.floor(count / 7));
  });

  test('is taken over from a dead process, even if another process has its pid', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    for (const lock of [{ pid: 2 ** 22 + 1, born: '1' }, { pid: process.pid, born: '1' }, 'nonsense']) {
      await place.write('out.csv.automate-lock', JSON.stringify(lock));
      expect((await place.automate([...run, '--force'])).code).toBe(4);
      expect(await leftBehind(place)).toEqual([]);
    }
  });
});

test('the lock of a zombie process is taken over', async () => {
  const server = await askedServer(0);
  const place = await placeFor(server);
  const { code } = await shell(
    place,
    `(node "$AUTOMATE" run flow.yaml --in - --in-format csv --out out.csv < <(exec sleep 20) & exec sleep 20) > log 2>&1 &
     until [ -e out.csv.automate-lock ]; do sleep 0.05; done
     dead=$(grep -o '"pid":[0-9]*' out.csv.automate-lock | grep -o '[0-9]*')
     kill -9 $dead
     until grep -q '^State:.Z' /proc/$dead/status; do sleep 0.05; done
     automate ${run.join(' ')}; code=$?
     kill $!; exit $code`,
  );
  expect(code).toBe(4);
});

test.each([
  ['a folder', 'mkdir', 'not a file'],
  ['a pipe', 'mkfifo', 'not a file'],
  ['a link to nothing', 'ln -s /nonexistent/x', 'a symbolic link'],
  ['a link to a file', 'ln -s rows.csv', 'a symbolic link'],
])('a lock that is %s ends the run at once', async (_, make, what) => {
  const server = await askedServer(0);
  const place = await placeFor(server);
  const { code, stderr } = await shell(place, `${make} out.csv.automate-lock; exec timeout -s KILL 20 node "$AUTOMATE" ${run.join(' ')}`);
  expect([code, stderr]).toEqual([73, expect.stringContaining(`out.csv is locked, and out.csv.automate-lock is ${what}\n`)]);
  expect(stderr).toContain('remove it, unless another run is under way');
});

test.each([
  [5, 73],
  [120, 4],
] as const)('a lock of another machine that was renewed %i s ago ends the run with exit %i', async (seconds, expected) => {
  const server = await askedServer(0);
  const place = await placeFor(server);
  await place.write('out.csv.automate-lock', JSON.stringify({ pid: process.pid, born: '1', where: 'elsewhere pid:[1]' }));
  const renewed = new Date(Date.now() - seconds * 1000);
  await utimes(place.path('out.csv.automate-lock'), renewed, renewed);
  const { code, stderr } = await place.automate(run);
  expect(code).toBe(expected);
  if (expected === 73) expect(stderr).toContain(`(process ${process.pid} of elsewhere)`);
});
