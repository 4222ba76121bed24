import { expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';

const count = 400;

async function slowPlace() {
  const server = await askedServer(10);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', credits: 1, concurrency: 4'), 'rows.csv': csvOf(count) });
  const args = (out: string, ...more: string[]) => ['run', 'flow.yaml', '--in', 'rows.csv', '--out', out, ...more];
  expect((await place.automate(args('plain.csv'))).code).toBe(4);
  server.forget();
  return { server, place, args };
}

test.each([1, 60, 150])(
  'a pilot that was killed at request %i is resumed without asking, and pays again only for what was in flight',
  async (at) => {
    const { server, place, args } = await slowPlace();
    let release: (() => void) | undefined;
    server.after(at, () => {
      release = server.hold();
    });
    const { child, finished } = place.start(args('out.csv', '--pilot', '200'));
    await expect.poll(() => release).toBeDefined();
    // Finished records are kept on disk every 100 ms, also if none is finished in the meantime.
    const kept = async () => (await place.read('out.csv.automate-run').catch(() => '')).match(/\{"(?:kept|failure)":/g)?.length ?? 0;
    await expect.poll(kept).toBeGreaterThanOrEqual(at - 4);
    child.kill('SIGKILL');
    await finished;
    release?.();
    expect((await place.automate(args('out.csv', '--resume'))).code).toBe(4);
    expect(idsTo(count).every((id) => server.calls.has(String(id)))).toBe(true);
    expect([...server.calls.values()].filter((calls) => calls > 1).length).toBeLessThanOrEqual(8);
    expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
    expect(await place.read('out.errors.csv')).toBe(await place.read('plain.errors.csv'));
  },
);

test('Ctrl-C in a pilot finishes the records already started, and --resume goes on without asking', async () => {
  const { server, place, args } = await slowPlace();
  const { child, finished } = place.start(args('out.csv', '--pilot', '300'));
  server.after(60, () => child.kill('SIGINT'));
  const { code, stderr } = await finished;
  expect([code, stderr]).toEqual([
    130,
    expect.stringMatching(/interrupted: \d+ read, 0 written, [\s\S]*waiting: \d+ finished[\s\S]*\(0 records\)\n[\s\S]* --resume\n$/),
  ]);
  expect(stderr).not.toContain('chosen at random');
  expect((await place.automate(args('out.csv', '--resume'))).code).toBe(4);
  expect([...server.calls.values()].every((calls) => calls === 1)).toBe(true);
  expect(await place.read('out.csv')).toBe(await place.read('plain.csv'));
});
