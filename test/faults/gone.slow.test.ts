import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { askedServer, csvOf } from '../helpers/asking.ts';
import { count, journal, killed, leftBehind, placeFor } from '../helpers/resuming.ts';
import { canTrace, shell, unlessTraced } from '../helpers/shell.ts';

/** Creates a workplace with the output of an earlier run. Since then, every tenth record has disappeared, and others have come. */
async function secondDay(goneFile = 'gone.csv', first = count) {
  const server = await askedServer(0);
  const place = await placeFor(server);
  await place.write('rows.csv', csvOf(first));
  // The paths are absolute, as strace requires.
  const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', place.path('out.csv'), '--update'];
  args.push('--gone', place.path(goneFile), '--gone-key', 'id');
  expect((await place.automate(args)).code).toBe(4);
  const [header = '', ...rows] = (await place.read('rows.csv')).trimEnd().split('\n');
  const left = rows.filter((_, index) => index % 10 !== 0);
  const more = rows.map((row) => row.replace(/^\d+/, (id) => String(Number(id) + 10_000)));
  await place.write('rows.csv', `${[header, ...more, ...left.reverse()].join('\n')}\n`);
  const files = () => Promise.all(['out.csv', goneFile].map((name) => readFile(place.path(name), 'latin1').catch(() => undefined)));
  const before = await files();
  await shell(place, `mkdir full; cp out.* ${goneFile} full`);
  expect((await place.automate(args)).code).toBe(4);
  const after = await files();
  await shell(place, `rm out.* ${goneFile}; cp full/* .`);
  expect(await files()).toEqual(before);
  server.forget();
  return { server, place, args, files, before, after };
}

describe.skipIf(!canTrace)(`an "automate run --update --gone" that is killed with SIGKILL${unlessTraced}`, () => {
  test.each([
    ['rename', 'out.csv.automate-run.new'],
    ['rename', 'out.errors.csv.automate-part'],
    ['rename', 'gone.csv.automate-part'],
    ['rename', 'out.csv.automate.automate-part'],
    ['rename', 'out.csv.automate-part'],
    ['unlink', journal],
  ])('leaves the old or the new files, and can be resumed (killed in the %s of %s)', async (call, file) => {
    const { place, args, files, before, after } = await secondDay('gone.csv', 100);
    const strace = `strace -f -qq -o /dev/null -P '${place.path(file)}' -e trace=${call} -e inject=${call}:signal=KILL`;
    expect((await shell(place, `${strace} node "$AUTOMATE" ${args.join(' ')}`)).code).toBeNull();
    const [out, gone] = await files();
    expect([before[0], after[0]]).toContain(out);
    expect([before[1], after[1]]).toContain(gone);
    // The list is there no later than the output without these records.
    if (out === after[0]) expect(gone).toBe(after[1]);
    expect((await place.automate([...args, '--resume'])).code).toBe(4);
    expect(await files()).toEqual(after);
    expect(await leftBehind(place)).toEqual([]);
  });
});

test.each([
  [1, 'gone.csv'],
  [150, 'gone.json'],
  [600, 'gone.ndjson.gz'],
])('a run that is killed at call %i has the whole %s after it is resumed', async (calls, goneFile) => {
  const { server, place, args, files, before, after } = await secondDay(goneFile);
  expect(await killed(place, server, calls, args)).toBe(true);
  expect(await files()).toEqual(before);
  const other = await place.automate([...args.map((word) => (word === 'id' ? 'note' : word)), '--resume']);
  expect([other.code, other.stderr]).toEqual([73, expect.stringContaining('gone-key was ["id"], is ["note"]')]);
  expect((await place.automate([...args, '--resume'])).code).toBe(4);
  expect(await files()).toEqual(after);
  expect(await leftBehind(place)).toEqual([]);
});
