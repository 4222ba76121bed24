import type { Clock } from '../../src/core/ports.ts';
import { createTestClock } from '../../src/flow-tests/test-run.ts';

/** Creates a clock that begins in 2030 and never really waits, as in all tests of flows. */
export function createFakeClock(wallStartMs = Date.UTC(2030, 0, 1)): Clock {
  return createTestClock(wallStartMs);
}
