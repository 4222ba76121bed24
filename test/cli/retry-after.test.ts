import { expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

test('the "Retry-After: 1" header delays a retry by at least a second', async () => {
  const atMs: number[] = [];
  const server = await answeringServer((_, index) => {
    atMs.push(performance.now());
    return index === 0 ? { status: 429, headers: { 'retry-after': '1' } } : {};
  });
  const place = await workplace({ 'flow.yaml': `nodes: [{ type: http, url: "${server.origin}/{{id}}" }]`, 'rows.csv': 'id\n1\n' });
  const { code } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv']);
  expect(code).toBe(0);
  expect(atMs).toHaveLength(2);
  expect((atMs[1] as number) - (atMs[0] as number)).toBeGreaterThanOrEqual(1000);
});
