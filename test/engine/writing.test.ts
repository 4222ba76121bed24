import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { RunPhase } from '../../src/engine/phase.ts';
import { Writing } from '../../src/engine/writing.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';

/** Creates a writer that records when it flushes, and how many records it has written by then. */
function writingOf(flush: () => Promise<void> = async () => undefined) {
  const clock = createFakeClock();
  const phase = new RunPhase();
  const flushedAtMs: number[] = [];
  const written: number[] = [];
  const output = {
    waiting: 0,
    async flush() {
      flushedAtMs.push(clock.now());
      await flush();
    },
  };
  const writing = new Writing(output, clock, phase, (records) => void written.push(records));
  return { writing, output, clock, phase, flushedAtMs, written };
}

describe('the writer of the output', () => {
  test('flushes 100 ms after the first record', async () => {
    const { writing, clock, flushedAtMs, written } = writingOf();
    writing.add();
    writing.add();
    await clock.sleepUntil(500);
    expect([flushedAtMs, written]).toEqual([[100], [2]]);
  });

  test('flushes at once if 256 records are waiting', async () => {
    const { writing, flushedAtMs, written } = writingOf();
    for (let record = 0; record < 256; record++) writing.add();
    await writing.end();
    expect([flushedAtMs[0], written[0]]).toEqual([0, 256]);
  });

  test('flushes at once if a large amount of text is waiting', async () => {
    const { writing, output, flushedAtMs } = writingOf();
    writing.add();
    output.waiting = 256 * 1024;
    writing.add();
    await nextTurn();
    expect(flushedAtMs).toEqual([0]);
  });

  test('writes the waiting records without delay when it is closed', async () => {
    const { writing, flushedAtMs, written } = writingOf();
    writing.add();
    await writing.end();
    expect([flushedAtMs, written]).toEqual([
      [0, 0],
      [1, 0],
    ]);
  });

  test('stops the run on an error and writes nothing more, because later records would leave a gap', async () => {
    const { writing, phase, clock, flushedAtMs } = writingOf(() => Promise.reject(new Error('ENOSPC')));
    writing.add();
    await clock.sleepUntil(200);
    expect(phase.current).toBe('stopped');
    writing.add();
    await clock.sleepUntil(400);
    await expect(writing.end()).rejects.toThrow('ENOSPC');
    expect(flushedAtMs).toEqual([100]);
  });
});
