import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { serving } from '../helpers/serving.ts';

const mounted = (folder: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder]).status === 0;
const canMount = await (async () => {
  const folder = await mkdtemp(join(tmpdir(), 'automate-mount-'));
  const can = mounted(folder);
  if (can) spawnSync('umount', [folder]);
  await rm(folder, { recursive: true });
  return can;
})();
const unlessMounted = canMount ? '' : ' (skipped: no file system can be mounted here)';

const flow = 'nodes: [{ type: set, fields: { n: "0123456789{{id}}" } }]';
const rows = (count: number) => `id\n${Array.from({ length: count }, (_, index) => index).join('\n')}\n`;

test.skipIf(!canMount)(`automate serve responds with 507 while its disk is full, and keeps its runs${unlessMounted}`, async () => {
  const place = await workplace();
  const home = place.path('.automate');
  await mkdir(home);
  expect(mounted(home)).toBe(true);
  onTestFinished(() => void spawnSync('umount', ['-l', home]));
  const { send, key, end } = await serving({ a: flow }, { place });
  const one = key({ scopes: ['run', 'read'] });
  const run = async (body: string) => {
    const headers = { 'content-type': 'text/csv', prefer: 'wait=30' };
    const answer = await send('/v1/flows/a/runs', { key: one, method: 'POST', body, headers });
    return { status: answer.status, ...((await answer.json()) as { id?: string; reason?: string }) };
  };
  const call = (more: Record<string, string> = {}) =>
    send('/v1/flows/a/calls', { key: one, method: 'POST', body: '{"id":1}', headers: { 'content-type': 'application/json', ...more } });
  expect(await run(rows(1_500_000))).toMatchObject({ status: 507, type: '/problems/disk-full' });
  const failed = await run(rows(220_000));
  expect(failed).toMatchObject({ status: 200, state: 'failed', exit_code: 74, resumable: true });
  expect(failed.reason).toBe('output.csv cannot be written: ENOSPC: no space left on device');
  expect((await call()).status).toBe(200);
  await writeFile(join(home, 'fill'), Buffer.alloc(9_000_000)).catch(() => undefined);
  expect(await run(rows(1000))).toMatchObject({ status: 507 });
  expect((await call()).status).toBe(200);
  const named = await call({ 'idempotency-key': 'k1' });
  expect([named.status, await named.json()]).toEqual([507, expect.objectContaining({ type: '/problems/disk-full' })]);
  expect((await send(`/v1/runs/${failed.id}/resume`, { key: one, method: 'POST' })).status).toBe(507);
  await rm(join(home, 'fill'));
  expect((await end()).code).toBe(0);
});
