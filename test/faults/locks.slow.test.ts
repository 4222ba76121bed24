import { symlink, utimes } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer } from '../helpers/asking.ts';
import type { Finished } from '../helpers/cli.ts';
import { count, leftBehind, placeFor, run } from '../helpers/resuming.ts';
import { shell } from '../helpers/shell.ts';

describe('automate run', () => {
  test("refuses a second run with the same output, and reports the first run's process id", async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const second = new Promise<Finished>((resolve) =>
      server.after(100, () => resolve(place.automate([...run, '--force']).finally(server.hold()))),
    );
    const { child, finished } = place.start(run);
    const { code, stderr } = await second;
    expect(code).toBe(73);
    expect(stderr).toContain(`out.csv is being written by another run (process ${child.pid})`);
    expect((await finished).code).toBe(4);
  });

  test('does not resume a run whose errors file has been replaced', async () => {
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

  test('refuses an output that is a symbolic link to an output in use', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    await place.write('out.csv', '');
    await symlink('out.csv', place.path('link.csv'));
    const linked = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'link.csv', '--errors', 'other.csv', '--force'];
    const second = new Promise<Finished>((resolve) => server.after(100, () => resolve(place.automate(linked).finally(server.hold()))));
    const { finished } = place.start([...run, '--force']);
    const { code, stderr } = await second;
    expect([code, stderr]).toEqual([73, expect.stringMatching(/out\.csv is being written by another run/)]);
    expect((await finished).code).toBe(4);
  });

  test('resumes a run whose output is a symbolic link, but refuses its target as the errors file', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    await symlink('out.csv', place.path('link.csv'));
    const linked = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'link.csv'];
    // The link's target must exist, because a link that leads nowhere is refused.
    await place.write('out.csv', '');
    const twice = await place.automate([...linked, '--errors', 'out.csv']);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('the errors file out.csv is the output')]);
    expect((await place.automate([...linked, '--force', '--max-credits', '100'])).code).toBe(5);
    expect((await place.automate([...linked, '--resume'])).code).toBe(4);
    expect((await place.read('out.csv')).trim().split('\n').length - 1).toBe(count - Math.floor(count / 7));
    expect(await leftBehind(place)).toEqual([]);
  });

  test('completes only one of two runs with the same errors file', async () => {
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

  test('takes over the lock file of a dead process, even if its process id has been reused', async () => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    for (const lock of [{ pid: 2 ** 22 + 1, born: '1' }, { pid: process.pid, born: '1' }, 'nonsense']) {
      await place.write('out.csv.automate-lock', JSON.stringify(lock));
      expect((await place.automate([...run, '--force'])).code).toBe(4);
      expect(await leftBehind(place)).toEqual([]);
    }
  });
});

test('a run takes over the lock file of a zombie process', async () => {
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
  ['a symbolic link that leads nowhere', 'ln -s /nonexistent/x', 'a symbolic link'],
  ['a symbolic link to a file', 'ln -s rows.csv', 'a symbolic link'],
])('a run ends at once if the lock file of its output is %s', async (_, make, what) => {
  const server = await askedServer(0);
  const place = await placeFor(server);
  const { code, stderr } = await shell(place, `${make} out.csv.automate-lock; exec timeout -s KILL 200 node "$AUTOMATE" ${run.join(' ')}`);
  expect([code, stderr]).toEqual([73, expect.stringContaining(`out.csv is locked, and out.csv.automate-lock is ${what}\n`)]);
  expect(stderr).toContain('remove it, unless another run is active');
});

test.each([
  [5, 73],
  [120, 4],
] as const)('a run whose output was locked by a different machine %i s ago exits with %i', async (seconds, expected) => {
  const server = await askedServer(0);
  const place = await placeFor(server);
  await place.write('out.csv.automate-lock', JSON.stringify({ pid: process.pid, born: '1', where: 'elsewhere pid:[1]' }));
  const renewed = new Date(Date.now() - seconds * 1000);
  await utimes(place.path('out.csv.automate-lock'), renewed, renewed);
  const { code, stderr } = await place.automate(run);
  expect(code).toBe(expected);
  if (expected === 73) expect(stderr).toContain(`(process ${process.pid} of elsewhere)`);
});
