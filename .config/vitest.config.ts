import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The faults take their time: kills, full disks, servers that never answer. They run by themselves (npm run test:faults) and in CI.
// All of them start processes and wait for them, so more run at once than the cores alone would allow.
const onlyFaults = process.env.FAULTS !== undefined;

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: [onlyFaults ? 'test/faults/*.test.ts' : 'test/**/*.test.ts'],
    exclude: onlyFaults ? [] : ['test/faults/**'],
    setupFiles: ['.config/test-setup.ts'],
    maxWorkers: onlyFaults ? 4 : 3,
    testTimeout: 60_000,
  },
});
