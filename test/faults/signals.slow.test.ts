import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { journal, leftBehind, placeFor, run } from '../helpers/resuming.ts';
import { shell } from '../helpers/shell.ts';

describe('a signal that a run receives', () => {
  test('ends the run without leaving a file if no record has been processed yet', async () => {
    const server = await askedServer();
    const place = await placeFor(server);
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', '-', '--in-format', 'csv', '--out', 'out.csv'], {
      stdin: '',
      keepStdin: true,
    });
    while (!(await leftBehind(place)).includes('out.csv.automate-lock')) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill('SIGTERM');
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([143, 'automate: SIGTERM: no record was started\n']);
    expect(await leftBehind(place)).toEqual([]);
  });

  test('ends the run after 10 s if the API never responds', async () => {
    const server = await httpServer((_request, _response) => {});
    // A run that waited for its requests would reach the limit of this test.
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', timeout: 1h'), 'rows.csv': csvOf(20) });
    const { child, finished } = place.start(run);
    while (server.requests.length < 16) await new Promise((resolve) => setTimeout(resolve, 20));
    const startedMs = performance.now();
    child.kill('SIGTERM');
    expect((await finished).code).toBe(143);
    expect(performance.now() - startedMs).toBeGreaterThan(9000);
    expect(await leftBehind(place)).toEqual([journal]);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('makes the run finish the records in progress, and print the command for the rest: %s', async (signal, expected) => {
    const server = await askedServer();
    const [whole, place] = [await placeFor(server), await placeFor(server)];
    await whole.automate(run);
    server.forget();
    const { child, finished } = place.start([...run, '--concurrency', '4']);
    server.after(200, () => child.kill(signal));
    const { code, stderr } = await finished;
    expect(code).toBe(expected);
    const command = /^ *(automate run .* --resume)$/m.exec(stderr)?.[1] ?? '';
    expect(await leftBehind(place)).toEqual([journal]);
    const second = await shell(place, command);
    expect(second.code).toBe(4);
    expect(await place.read('out.csv')).toBe(await whole.read('out.csv'));
    expect([...server.calls.values()].filter((times) => times > 1)).toEqual([]);
  });

  test('ends the run at once if it is the second signal', async () => {
    const waiting: (() => void)[] = [];
    const server = await httpServer(async (_, response) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      json(response, { name: 'late' });
    });
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(20) });
    const { child, finished } = place.start([...run, '--concurrency', '2']);
    while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    const said = new Promise((resolve) => child.stderr?.once('data', resolve));
    // A terminal may send a single Ctrl-C twice. Two equal signals would be one if the process has not handled the first yet.
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await said;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(child.exitCode).toBe(null);
    const startedMs = performance.now();
    child.kill('SIGINT');
    expect([130, 143]).toContain((await finished).code);
    // Without the third signal, the run would wait for 10 s.
    expect(performance.now() - startedMs).toBeLessThan(9000);
    const resumed = place.start([...run, '--resume']);
    const answering = setInterval(() => waiting.splice(0).forEach((answer) => void answer()), 10);
    expect((await resumed.finished).code).toBe(0);
    clearInterval(answering);
    expect((await place.read('out.csv')).match(/^\d+/gm)?.map(Number)).toEqual(idsTo(20));
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends a run whose expressions take long to evaluate: %s', async (signal, expected) => {
    const items = JSON.stringify({ items: Array.from({ length: 300 }, (_, item) => item) });
    const place = await workplace({
      'flow.yaml':
        'nodes:\n  - type: set\n    when: items.all(a, items.all(b, items.all(c, items.all(d, a + d >= 0))))\n    fields: { ok: "1" }\n',
      'rows.jsonl': `${items}\n`.repeat(600),
    });
    const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.jsonl', '--out', 'out.jsonl']);
    while (!(await place.files()).some((name) => name.endsWith('.errors.jsonl'))) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill(signal);
    const { code, stderr } = await finished;
    // All the expressions together would take 10 min.
    expect(code).toBe(expected);
    expect(stderr).toContain('the expression takes more than 1 s for this record');
    expect(stderr).toContain('--resume');
  });
});
