import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer, csvOf } from '../helpers/asking.ts';
import { count, journal, killed, leftBehind, placeFor } from '../helpers/resuming.ts';
import { canTrace, shell, unlessTraced } from '../helpers/shell.ts';

/** Creates a workplace with the output of an earlier run with --update. Since then, the input has got new records and a new order. */
async function secondDay(first = count) {
  const server = await askedServer(0);
  const place = await placeFor(server);
  await place.write('rows.csv', csvOf(first));
  // The paths are absolute, as strace requires.
  const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv'), '--update'];
  expect((await place.automate(args)).code).toBe(4);
  const [header = '', ...rows] = (await place.read('rows.csv')).trimEnd().split('\n');
  const more = rows.map((row) => row.replace(/^\d+/, (id) => String(Number(id) + 10_000)));
  await place.write('rows.csv', `${[header, ...more, ...rows.reverse()].join('\n')}\n`);
  const files = () => Promise.all(['out.csv', 'out.errors.csv'].map((name) => readFile(place.path(name), 'utf8').catch(() => undefined)));
  const before = await files();
  await shell(place, 'mkdir full; cp out.* full');
  expect((await place.automate(args)).code).toBe(4);
  const after = await files();
  await shell(place, 'rm out.*; cp full/* .');
  expect(await files()).toEqual(before);
  server.forget();
  return { server, place, args, files, before, after };
}

describe.skipIf(!canTrace)(`an "automate run --update" that is killed with SIGKILL${unlessTraced}`, () => {
  test.each([
    ['rename', 'out.csv.automate-run.new'],
    ['rename', 'out.errors.csv.automate-part'],
    ['rename', 'out.csv.automate.automate-part'],
    ['rename', 'out.csv.automate-part'],
    ['unlink', journal],
  ])('leaves the old or the new output, and the next run continues (killed in the %s of %s)', async (call, file) => {
    const { place, args, files, before, after } = await secondDay(100);
    const strace = `strace -f -qq -o /dev/null -P '${place.path(file)}' -e trace=${call} -e inject=${call}:signal=KILL`;
    expect((await shell(place, `${strace} node "$AUTOMATE" ${args.join(' ')}`)).code).toBeNull();
    expect([before[0], after[0]]).toContain((await files())[0]);
    const { code } = await place.automate(args);
    expect(code).toBe(4);
    expect(await files()).toEqual(after);
    expect(await leftBehind(place)).toEqual([]);
  });
});

test.each([1, 150, 600])('an "automate run --update" that is killed at call %i keeps the old files, and can be resumed', async (calls) => {
  const { server, place, args, files, before, after } = await secondDay();
  expect(await killed(place, server, calls, args)).toBe(true);
  expect(await files()).toEqual(before);
  const again = await place.automate([...args, '--resume']);
  expect([again.code, await files()]).toEqual([4, after]);
  expect(again.stderr).toMatch(/ unchanged: taken over from out\.csv/);
  server.forget();
  const last = await place.automate(args);
  expect(last.code).toBe(4);
  // Only records that failed or are new are requested.
  expect(server.calls.size).toBeLessThan(count / 2);
  expect(await files()).toEqual(after);
});
