import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { askedServer, askingFlow, csvOf, idsTo } from '../helpers/asking.ts';
import { workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { listInKeychain } from '../helpers/keychain.ts';
import { shell } from '../helpers/shell.ts';

test('a run exits with 141 and no stack trace if its stdout is closed by `| head -1`', async () => {
  const server = await askedServer(0);
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(20_000) });
  const { stdout, stderr } = await shell(place, 'automate run flow.yaml --in rows.csv | head -1; echo $PIPESTATUS');
  expect(stdout).toBe('id,note,name\n141\n');
  expect(stderr).not.toMatch(/\bat .*:\d+:\d+|EPIPE/);
  expect(server.calls.size).toBeLessThan(20_000);
});

test('a run retries calls after SIGCONT if their connections broke while SIGSTOP suspended it', async () => {
  const server = await httpServer(({ path }, response) => {
    if (server.requests.length > 4) return json(response, { name: path });
    if (server.requests.length === 4) {
      child.kill('SIGSTOP');
      setTimeout(() => child.kill('SIGCONT'), 700);
    }
    // The connections break while the program is suspended.
    return setTimeout(() => response.destroy(), 300);
  });
  const flow = askingFlow(server.origin, ', concurrency: 4, retry: { backoff: 10ms }');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(50) });
  const { child, finished } = place.start(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  const { code, stderr } = await finished;
  expect(code).toBe(0);
  expect(stderr).toContain('50 read, 50 written, 0 failed, 4 retries');
});

describe('a run with a JavaScript heap of 64 MB', () => {
  test('can process 100,000 records', async () => {
    const flow = 'nodes: [{ type: set, fields: { name: "{{note}}!" } }]';
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(100_000) });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], {
      node: ['--max-old-space-size=64'],
    });
    expect(code).toBe(0);
    expect(stderr).toContain('100,000 read, 100,000 written, 0 failed');
  });

  test('can send 7,000 requests', async () => {
    const server = await askedServer(0);
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', concurrency: 64'), 'rows.csv': csvOf(7000) });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], {
      node: ['--max-old-space-size=64'],
    });
    expect(code).toBe(4);
    expect(stderr).toMatch(/7,000 read, 6,000 written, 1,000 failed/);
  });
});

describe('the failed records of a run', () => {
  test.each([
    ['all records fail', () => 500, 0],
    ['no record fails', () => 200, 300],
    ['every second record fails', (id: number) => (id % 2 === 0 ? 500 : 200), 150],
  ])('add up with the written records to the number of records read: %s', async (_, statusOf, written) => {
    const server = await httpServer(({ path }, response) => json(response, { name: 'x' }, statusOf(Number(path.slice(1)))));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', retry: { max: 0 }'), 'rows.csv': csvOf(300) });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
    expect(code).toBe(written === 300 ? 0 : 4);
    expect(stderr).toContain(`300 read, ${written} written, ${300 - written} failed`);
    const ids = `${await place.read('out.csv')}${written === 300 ? '' : await place.read('out.errors.csv')}`.match(/^\d+/gm)?.map(Number);
    expect(ids?.sort((a, b) => a - b)).toEqual(idsTo(300));
  });

  test.each([
    ['a number', '20', 20],
    ['a share', '10%', 99],
  ])('end the run with exit code 5 if they exceed --max-errors, set as %s', async (_, allowed, least) => {
    const server = await httpServer((_, response) => json(response, {}, 500));
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin, ', retry: { max: 0 }'), 'rows.csv': csvOf(3000) });
    const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--max-errors', allowed]);
    expect(code).toBe(5);
    expect(stderr).toMatch(/automate run .* --max-errors .* --resume/);
    const failed = (await place.read('out.errors.csv')).trim().split('\n').length - 1;
    expect(failed).toBeGreaterThan(least);
    expect(failed).toBeLessThan(least + 200);
  });
});

test('a loop that never ends stops at max, and a poll at its timeout', async () => {
  let page = 0;
  const server = await httpServer((_, response) => json(response, { next: ++page, status: 'working' }));
  const inner = (map: string) => `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: { ${map} } }]`;
  const place = await workplace({
    'loop.yaml': `nodes: [{ type: loop, while: next > 0, carry: [next], max: 5, ${inner('next: next')} }]\n`,
    'poll.yaml': `nodes: [{ type: poll, every: 50ms, timeout: 240ms, until: 'status == "done"', ${inner('status: status')} }]\n`,
    'rows.csv': 'id\n1\n',
  });
  const run = (flow: string) => place.automate(['run', flow, '--in', 'rows.csv', '--errors', `${flow}.csv`]);
  expect(await run('loop.yaml')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('the loop is not finished after 5 passes (max)'),
  });
  expect(server.requests).toHaveLength(5);
  expect(await run('poll.yaml')).toMatchObject({ code: 4, stderr: expect.stringContaining('not done within 240 ms') });
  expect(server.requests.length).toBeGreaterThan(5);
  expect(server.requests.length).toBeLessThanOrEqual(10);
});

test('a run exits with 7 if a credential is missing, and names the variable to set', async () => {
  const server = await askedServer();
  const flow = askingFlow(server.origin, ', auth: { type: bearer, credential: crm-token }');
  const place = await workplace({ 'flow.yaml': flow, 'rows.csv': csvOf(3) });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv']);
  expect(code).toBe(7);
  expect(stderr).toContain('AUTOMATE_CREDENTIAL_CRM_TOKEN');
  expect(server.calls.size).toBe(0);
  expect(await place.files()).toEqual(['flow.yaml', 'rows.csv']);
});

test('a run exits with 7 without access to its keychain, and names the variable to set', async () => {
  const server = await askedServer();
  const flow = askingFlow(server.origin, ', auth: { type: bearer, credential: crm-token }');
  const place = await workplace({ 'flow.yaml': flow });
  await listInKeychain(place, 'crm-token');
  const { finished } = place.start(['run', 'flow.yaml', '--in', '-', '--in-format', 'csv'], { stdin: csvOf(3), keepStdin: true });
  const { code, stderr } = await finished;
  expect(code).toBe(7);
  expect(stderr).toMatch(/no session bus \(D-Bus\) here, as under cron[\s\S]*AUTOMATE_CREDENTIAL_CRM_TOKEN/);
  expect(server.calls.size).toBe(0);
});

const faketime = ['/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1', '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1'].find(
  existsSync,
);

test.skipIf(!faketime)(
  `a run's waits do not change if the system clock is set back by an hour${faketime ? '' : ' (skipped: no libfaketime here)'}`,
  async () => {
    const server = await httpServer(({ path }, response) => {
      if (server.requests.length > 1) return json(response, { name: path });
      spawnSync('sh', ['-c', `echo -1h > '${place.path('clock')}'`]);
      return response.writeHead(503, { 'retry-after': '1' }).end();
    });
    const place = await workplace({ 'flow.yaml': askingFlow(server.origin), 'rows.csv': csvOf(3), clock: '+0\n' });
    const env = {
      LD_PRELOAD: faketime ?? '',
      FAKETIME_TIMESTAMP_FILE: place.path('clock'),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'], { env });
    expect(code).toBe(0);
  },
);
