import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const project = (name: string, test: object) => ({ extends: true as const, test: { name, ...test } });

/** Kills, full disks, browsers, restarts, the data's build, the commands of the documentation: npm run test:slow. */
const slow = 'test/**/*.slow.test.ts';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: [fileURLToPath(new URL('test-setup.ts', import.meta.url))],
    maxWorkers: 3,
    testTimeout: 60_000,
    projects: [
      // Their modules are loaded once: what a test changes around it, it puts back.
      project('fast', { include: ['test/**/*.test.ts'], exclude: [slow], isolate: false }),
      project('slow', { include: [slow] }),
    ],
  },
});
