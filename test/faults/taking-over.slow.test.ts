import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { beforeEach, expect, test } from 'vitest';
import { takeLock, waitForLock } from '../../src/files/lock.ts';
import { ownerText } from '../../src/files/owner.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { canTrace } from '../helpers/shell.ts';

let place: Workplace;
let file: string;
const lock = 'out.csv.automate-lock';
const dead = '{"pid":4194305,"born":"1"}';

beforeEach(async () => {
  place = await workplace();
  file = place.path('out.csv');
});

test('a lock file exists until it is released', async () => {
  const held = takeLock(file, 'out');
  expect(await place.read(lock)).toBe(ownerText());
  expect(() => takeLock(file, 'out')).toThrow(`out.csv is being written by another run (process ${process.pid})`);
  held.release();
  expect(await place.files()).toEqual([]);
});

test('a process does not remove its lock file after a different process has taken it over', async () => {
  const held = takeLock(file, 'out');
  await place.write(lock, dead);
  held.release();
  expect(await place.read(lock)).toBe(dead);
});

test("a dead process's lock file is taken over, even if an earlier takeover left one too", async () => {
  for (const left of [[lock], [lock, `${lock}.takeover`], [lock, `${lock}.takeover`, `${lock}.takeover.takeover`]]) {
    for (const name of left) await place.write(name, dead);
    takeLock(file, 'out').release();
    expect(await place.files()).toEqual([]);
  }
});

test('a lock file cannot be taken over while another process is taking it over', async () => {
  await place.write(lock, dead);
  await place.write(`${lock}.takeover`, ownerText());
  expect(() => takeLock(file, 'out')).toThrow(`(process ${process.pid})`);
  await expect(waitForLock(file, 50)).rejects.toThrow(`out.csv is being changed by process ${process.pid}; try again`);
  expect(await place.read(lock)).toBe(dead);
});

/**
 * A process that takes a lock several times, and fails if another process holds the lock at the same time. It pauses at random around its
 * file operations, which lets other processes act in between. Then it releases the lock, or makes it look like a dead process's lock.
 */
const contender = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const { mkdirSync, renameSync, rmdirSync, writeFileSync } = fs;
const [file, how, times, longestMs] = process.argv.slice(2);
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() ** 4 * longestMs);
for (const name of ['linkSync', 'renameSync', 'rmSync']) {
  const call = fs[name];
  fs[name] = (...args) => (pause(), call(...args), pause());
}
syncBuiltinESMExports();
const { takeLock } = await import('./lock.mjs');
const taken = () => {
  for (;;)
    try {
      return takeLock(file);
    } catch (error) {
      if (!/being written/.test(error.message)) throw error;
      pause();
    }
};
for (let time = 0; time < times; time++) {
  const held = taken();
  mkdirSync(file + '.inside');
  pause();
  rmdirSync(file + '.inside');
  if (how === 'release') held.release();
  else {
    const other = file + '.' + process.pid;
    writeFileSync(other, JSON.stringify({ pid: 4194305, born: other + time }));
    renameSync(other, file + '.automate-lock');
  }
}
process.exit();
`;

async function contenders(): Promise<(how: 'release' | 'die', times: number, longestMs: number) => Promise<string>> {
  const source = fileURLToPath(new URL('../../src/files/lock.ts', import.meta.url));
  await build({ input: source, platform: 'node', output: { file: place.path('lock.mjs') } });
  await place.write('contender.mjs', contender);
  return async (how, times, longestMs) => {
    const child = spawn(process.execPath, [place.path('contender.mjs'), file, how, `${times}`, `${longestMs}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    return new Promise((resolve) => child.on('close', (code) => resolve(code === 0 ? '' : stderr)));
  };
}

test.each(['release', 'die'] as const)('only one of six processes holds a lock file at a time (each holder ends with: %s)', async (how) => {
  const contend = await contenders();
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => contend(how, 15, 15)));
  expect(outcomes.filter((outcome) => outcome !== '')).toEqual([]);
});

test.runIf(canTrace)('a lock file can be taken over after its process was killed in any file operation', async () => {
  const contend = await contenders();
  const calls = '/^(link|linkat|unlink|unlinkat|chmod|fchmodat)$';
  let killed = 0;
  for (let call = 1; call <= 14; call++) {
    await place.write(lock, dead);
    await place.write(`${lock}.takeover`, dead);
    const strace = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:signal=KILL:when=${call}`];
    const args = [...strace, process.execPath, place.path('contender.mjs'), file, 'release', '1', '0'];
    const { signal, status } = spawnSync('strace', args);
    if (signal === 'SIGKILL' || status === 137) killed++;
    expect(await contend('release', 1, 0)).toBe('');
  }
  expect(killed).toBeGreaterThan(8);
});
