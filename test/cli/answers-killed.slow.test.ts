import { expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--keep-answers'];

test('counts the answers of a run that was killed, each batch as one', async () => {
  const server = await askedServer(1);
  const flow = `nodes:
  - { type: http, url: "${server.origin}/{{id}}", batch: { size: 3, items: "{{id}}" }, method: POST, body: { ids: "{{items}}" }, concurrency: 1 }
  - { type: http, url: "${server.origin}/{{id}}", concurrency: 1 }
`;
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(600) });
  const started = place.start(run);
  server.after(90, () => started.child.kill('SIGKILL'));
  await started.finished;
  const { answers, oldest } = JSON.parse((await place.automate(['answers', 'out.csv', '--json'])).stdout);
  // The requests in flight are not among them.
  expect([answers <= 90, answers >= 80, typeof oldest]).toEqual([true, true, 'string']);
});

test('automate why knows the records of a run that was killed, and of the run that resumed it', async () => {
  const server = await askedServer(1);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', concurrency: 1'), 'rows.csv': csvOf(60) });
  const started = place.start(run);
  server.after(20, () => started.child.kill('SIGKILL'));
  await started.finished;
  const why = (record: number) => place.automate(['why', 'out.csv', '--record', String(record)]);
  expect(await why(2)).toMatchObject({ code: 0, stdout: expect.stringContaining(`GET ${server.origin}/2\n  200, `) });
  expect((await place.automate([...run, '--resume'])).code).toBe(4);
  for (const record of [2, 16, 60])
    expect(await why(record)).toMatchObject({ code: 0, stdout: expect.stringContaining(`/${record}\n  200, `) });
});

test.each([[[]], [['--workers', '2']]])('after kill -9, only requests in flight are sent again (%j)', async (options) => {
  const server = await askedServer(1);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', concurrency: 4'), 'rows.csv': csvOf(600) });
  for (const count of [120, 90]) {
    const started = place.start([...run, ...options, '--force']);
    server.after(count, () => started.child.kill('SIGKILL'));
    await started.finished;
  }
  expect((await place.automate([...run, ...options, '--force'])).code).toBe(4);
  const asked = [...server.calls].filter(([id]) => Number(id) % 7 !== 0).map(([, times]) => times);
  expect(asked).toHaveLength(600 - 85);
  // Each kill leaves at most the requests in flight without an answer in the file: 4, or 4 in each of 2 workers.
  expect(asked.filter((times) => times > 1).length).toBeLessThanOrEqual(2 * (options.length > 0 ? 8 : 4) + 4);
  server.forget();
  expect((await place.automate([...run, '--replace'])).code).toBe(4);
  expect([...server.calls.keys()].every((id) => Number(id) % 7 === 0)).toBe(true);
});
