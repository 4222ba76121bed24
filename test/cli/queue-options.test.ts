import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const flow = 'nodes:\n  - { type: set, fields: { a: "1" } }\n';

test.each([
  [['--workers', '2', '--queue', 'redis://127.0.0.1:1'], '--workers starts processes here, --queue uses those that watch a queue'],
  [['--queue-name', 'a'], '--queue-name says which queue of a Redis: expected --queue beside it'],
  [['--wait-for-workers', '2s'], '--wait-for-workers waits for those of a queue: expected --queue beside it'],
  [['--queue', 'redis://:password@127.0.0.1'], 'expected a URL without a password'],
  [['--queue', 'redis://a,b'], 'Sentinel or a Cluster'],
  [['--queue', 'redis://127.0.0.1:1', '--queue-name', 'a b'], 'expected letters, digits, - and _'],
])('a run with %j is refused with exit code 2', async (args, message) => {
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(await place.files()).not.toContain('out.csv');
});

test('a dry run opens no queue', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });
  const { code, stderr } = await place.automate([
    'run',
    'flow.yaml',
    '--in',
    'in.csv',
    '--out',
    'out.csv',
    '--dry-run',
    '--queue',
    'redis://127.0.0.1:1',
  ]);
  expect(code, stderr).toBe(0);
});

test.each(['worker', 'status'])('%s needs the URL of a queue', async (command) => {
  const { code, stderr } = await (await workplace({})).automate([command]);
  expect(code).toBe(2);
  expect(stderr).toContain('redis://redis:6379');
});
