import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const project = (name: string, test: object) => ({ extends: true as const, test: { name, ...test } });

/**
 * Tests that kill processes or start many, fill disks, use browsers, restart servers, build the data, or run the documentation's commands. Run
 * them with npm run test:slow.
 */
const slow = 'test/**/*.slow.test.ts';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: [fileURLToPath(new URL('test-setup.ts', import.meta.url))],
    maxWorkers: 3,
    testTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    projects: [
      // These tests share loaded modules, so a test must restore everything that it changes.
      project('fast', { include: ['test/**/*.test.ts'], exclude: [slow], isolate: false }),
      // Many of these tests wait for timeouts, so more of them can run at the same time.
      project('slow', {
        include: [slow],
        maxWorkers: 4,
        testTimeout: 300_000,
        hookTimeout: 300_000,
        expect: { poll: { timeout: 90_000 } },
      }),
    ],
  },
});
