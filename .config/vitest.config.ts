import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The faults take their time: kills, full disks, servers that never answer. They run by themselves (npm run test:faults) and in CI.
// All of them start processes and wait for them, so more run at once than the cores alone would allow.
const onlyFaults = process.env.FAULTS !== undefined;

/** It measures its own process. */
const alone = 'test/engine/size.test.ts';

const project = (name: string, test: object) => ({ extends: true as const, test: { name, ...test } });

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: [fileURLToPath(new URL('test-setup.ts', import.meta.url))],
    maxWorkers: onlyFaults ? 4 : 3,
    testTimeout: 60_000,
    projects: onlyFaults
      ? [project('faults', { include: ['test/faults/*.test.ts'] })]
      : [
          // Their modules are loaded once: what a test changes around it, it puts back.
          project('together', { include: ['test/*.test.ts', 'test/!(faults)/**/*.test.ts'], exclude: [alone], isolate: false }),
          project('alone', { include: [alone] }),
        ],
  },
});
