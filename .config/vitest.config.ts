import { existsSync, statfsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const project = (name: string, test: object) => ({ extends: true as const, test: { name, ...test } });

/**
 * Tests that kill processes or start many, fill disks, use browsers, restart servers, build the data, or run the documentation's commands. Run
 * them with npm run test:slow.
 */
const slow = 'test/**/*.slow.test.ts';

/**
 * Begins with the files that take longest. In a new clone, vitest would begin with the largest files, and end with a small one that keeps a
 * single process busy for minutes.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      /(docs\/pages|queue-faults|queue-disturbed|queue-data|learned-pace|serve-memory|documents|examples|example-workers)\.slow\.test\.ts$/.test(
        moduleId,
      );
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/**
 * Files in memory spare an eighth of the fast tests' CPU time, and their waits for the disk. A container's /dev/shm is often too small for
 * them (64 MB in Docker).
 */
function temporaryFolder(): { TMPDIR?: string } {
  const inMemory = '/dev/shm';
  if (process.env.TMPDIR || !existsSync(inMemory)) return {};
  const { bavail, bsize } = statfsSync(inMemory);
  return bavail * bsize > 2e9 ? { TMPDIR: inMemory } : {};
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: [fileURLToPath(new URL('test-setup.ts', import.meta.url))],
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    projects: [
      // These tests share loaded modules, so a test must restore everything that it changes.
      project('fast', { include: ['test/**/*.test.ts'], exclude: [slow], isolate: false, env: temporaryFolder() }),
      // Many of these tests wait for timeouts, so more of them can run at the same time.
      project('slow', {
        include: [slow],
        maxWorkers: 5,
        testTimeout: 300_000,
        hookTimeout: 300_000,
        expect: { poll: { timeout: 90_000 } },
      }),
    ],
  },
});
