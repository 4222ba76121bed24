import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { SentLog, sentSince } from '../../src/credits/holds.ts';

/** Simulates a disk that stores only `bytes` bytes of the next write, and later writes completely. */
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

test('a log of sent calls that was only partly written is written once more at the same position', () => {
  const path = join(folder, 'run.credits');
  const log = new SentLog(path);
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

test('the log of sent calls can contain more entries than its buffer', () => {
  const path = join(folder, 'many.credits');
  const log = new SentLog(path);
  for (let entry = 0; entry < 3000; entry++) log.add(entry % 2, 1);
  log.flush();
  expect(sentSince(path, 1000, 2)).toEqual([1000, 1000]);
  log.remove();
});

test('a new log of sent calls replaces a log that was left over', () => {
  const path = join(folder, 'left.credits');
  new SentLog(path).add(0, 1);
  const log = new SentLog(path);
  log.add(0, 2);
  log.flush();
  expect(sentSince(path, 0, 1)).toEqual([2]);
  log.remove();
});
