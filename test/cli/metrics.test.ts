import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';

const flow = 'nodes:\n  - { type: set, fields: { a: "1" } }\n';
const run = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv'];
const place = () => workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });

test.each(['x', '', ':9464', '65536', 'host:', 'a b:1', 'http://127.0.0.1:1', '::1', '[::1]'])(
  '%j is refused as a metrics address with exit code 2',
  async (address) => {
    const { automate, files } = await place();
    const { code, stderr } = await automate([...run, '--metrics', address]);
    expect(code).toBe(2);
    expect(stderr).toContain(`expected a port, or HOST:PORT such as 0.0.0.0:9464, found "${address}"`);
    expect(await files()).not.toContain('out.csv');
  },
);

test.each(['run', 'worker', 'serve'])(
  'automate %s exits with 73, before doing anything, if the metrics port is in use',
  async (command) => {
    const { port } = await httpServer();
    const { automate, files, folder } = await place();
    const lines: Record<string, string[]> = { run, worker: ['worker', '--queue', 'redis://127.0.0.1:1'], serve: ['serve', folder] };
    const { code, stderr } = await automate([...(lines[command] ?? []), '--metrics', String(port)]);
    expect(code).toBe(73);
    expect(stderr).toContain(
      `port ${port} of 127.0.0.1 is in use by another process\n  choose another port with --metrics; 0 is any free port`,
    );
    expect(await files()).not.toContain('out.csv');
  },
);

test('a run prints its metrics address on the first line, except with --quiet', async () => {
  const { automate } = await place();
  expect((await automate([...run, '--metrics', '0'])).stderr).toMatch(/^metrics: http:\/\/127\.0\.0\.1:\d+\/metrics\n/);
  expect((await automate([...run, '--force', '--metrics', 'localhost:0', '--quiet'])).stderr).toBe('');
});

test('a dry run serves no metrics', async () => {
  const { port } = await httpServer();
  const { code, stderr } = await (await place()).automate([...run, '--dry-run', '--metrics', String(port)]);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('metrics')]);
});

test('the --metrics option is refused by commands that start no run', async () => {
  const { code, stderr } = await (await place()).automate(['test-request', 'flow.yaml', '--metrics', '0']);
  expect([code, stderr]).toEqual([2, expect.stringContaining("unknown option '--metrics'")]);
});
