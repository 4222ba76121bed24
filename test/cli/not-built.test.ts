import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

test('a clone that is not built says what to run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'automate-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(fileURLToPath(new URL('../../bin', import.meta.url)), join(folder, 'bin'), { recursive: true });
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'bin/automate.js'), '--version'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, 'automate: this clone is not built\n  install the packages and build it: npm ci\n']);
});
