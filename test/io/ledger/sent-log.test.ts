import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createSentLog, sentSince } from '../../../src/io/ledger/sent-log.ts';

/** A disk that takes so many bytes of the next write, and of those behind it all. */
function nearlyFull(bytes: number): void {
  const { writeSync } = fs;
  const put = (write: typeof writeSync) => {
    fs.writeSync = write;
    syncBuiltinESMExports();
  };
  onTestFinished(() => put(writeSync));
  put(((file: number, buffer: Buffer, offset: number, _length: number, position: number) => {
    put(writeSync);
    return writeSync(file, buffer, offset, bytes, position);
  }) as typeof writeSync);
}

const folder = fs.mkdtempSync(join(tmpdir(), 'automate-sent-log-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

test('what was written in part is written again in its place', () => {
  const path = join(folder, 'run.credits');
  const log = createSentLog(path);
  log.add(0, 1);
  log.flush();
  log.add(1, 2);
  log.add(0, 4);
  nearlyFull(15);
  expect(() => log.flush()).toThrow('cannot be written: no space left on device');
  expect(sentSince(path, 0, 2)).toEqual([1, 0]);
  log.flush();
  expect(sentSince(path, 0, 2)).toEqual([5, 2]);
  log.remove();
});

test('more entries than are written together are all there', () => {
  const path = join(folder, 'many.credits');
  const log = createSentLog(path);
  for (let entry = 0; entry < 3000; entry++) log.add(entry % 2, 1);
  log.flush();
  expect(sentSince(path, 1000, 2)).toEqual([1000, 1000]);
  log.remove();
});

test('a log that was left behind is begun anew', () => {
  const path = join(folder, 'left.credits');
  createSentLog(path).add(0, 1);
  const log = createSentLog(path);
  log.add(0, 2);
  log.flush();
  expect(sentSince(path, 0, 1)).toEqual([2]);
  log.remove();
});
