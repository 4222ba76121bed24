import { describe, expect, test } from 'vitest';
import { askedServer, csvOf } from '../helpers/asking.ts';
import type { Finished, Workplace } from '../helpers/cli.ts';
import { count, journal, placeFor, run } from '../helpers/resuming.ts';
import { canTrace, shell, unlessTraced } from '../helpers/shell.ts';

const note = 'out.csv.automate';

/** Returns the arguments of a job, which is always started with --resume. Paths are absolute, as strace requires. */
const jobOf = (place: Workplace, ...more: string[]) => [
  'run',
  'flow.yaml',
  '--in',
  'rows.csv',
  '--out',
  place.path('out.csv'),
  '--resume',
  ...more,
];

const atTheEnd = [
  ['rename', `${note}.automate-part`],
  ['unlink', journal],
] as const;
const withReplace = [
  ['rename', 'out.errors.csv.automate-part'],
  ['rename', 'out.csv.automate-part'],
] as const;

describe.skipIf(!canTrace)(`a job that is killed with SIGKILL shortly before it is complete${unlessTraced}`, () => {
  test.each([
    ...atTheEnd.map((point) => [...point, []] as const),
    ...[...withReplace, ...atTheEnd].map((point) => [...point, ['--replace']] as const),
  ])('completes without a request when it is started again (killed in the %s of %s, options: %j)', async (call, file, more) => {
    const server = await askedServer(0);
    const place = await placeFor(server);
    await place.write('rows.csv', csvOf(100));
    const args = jobOf(place, ...more);
    const outputs = async () => [await place.read('out.csv'), await place.read('out.errors.csv')];
    expect((await place.automate(args)).code).toBe(4);
    const expected = await outputs();
    await shell(place, 'rm -rf out.* .automate');

    // strace ends in the same way as its command: killed by the signal, without an exit code.
    const strace = `strace -f -qq -o /dev/null -P '${place.path(file)}' -e trace=${call} -e inject=${call}:signal=KILL`;
    expect((await shell(place, `${strace} node "$AUTOMATE" ${args.join(' ')}`)).code).toBeNull();
    expect(await place.files()).toContain('out.csv.automate-lock');
    server.forget();
    expect((await place.automate(args)).code).toBe(4);
    expect(await place.automate(args)).toMatchObject({ code: 4, stderr: expect.stringContaining('is complete already') });
    expect([server.calls.size, await outputs()]).toEqual([0, expected]);
    const files = await place.files();
    expect([files.includes(note), files.includes(`${note}.automate-part`), files.includes(journal)]).toEqual([true, false, false]);
  });
});

test('a job that is started again while it runs is refused, and the first run finishes', async () => {
  const server = await askedServer(1);
  const place = await placeFor(server);
  const second = new Promise<Finished>((resolve) =>
    server.after(50, () => resolve(place.automate([...run, '--resume']).finally(server.hold()))),
  );
  const { finished } = place.start([...run, '--resume']);
  const { code, stderr } = await second;
  expect([code, stderr]).toEqual([73, expect.stringContaining('is being written')]);
  expect((await finished).code).toBe(4);
  expect((await place.automate([...run, '--resume'])).code).toBe(4);
  expect(server.calls.size).toBe(count);
});
