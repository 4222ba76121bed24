import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takeServeLock } from '../../../src/serve/serve-lock.ts';
import { Links } from '../../../src/serve/store/links.ts';

function folders() {
  const folder = mkdtempSync(join(tmpdir(), 'automate-links-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [home, elsewhere] = [join(folder, 'home'), join(folder, 'elsewhere')];
  for (const one of [home, elsewhere]) mkdirSync(one);
  return { home, elsewhere };
}

test.each(['serve', 'serve/runs', 'serve/links'])('automate serve refuses a home whose %s is a symbolic link', (name) => {
  const { home, elsewhere } = folders();
  const link = join(home, name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(elsewhere, link);
  expect(() => takeServeLock(home, '/flows')).toThrow(`${link} is a symbolic link, which is not allowed here`);
  expect(existsSync(join(home, 'serve.lock.automate-lock'))).toBe(false);
  if (name !== 'serve/runs') expect(() => new Links(home).create()).toThrow(`${link} is a symbolic link, which is not allowed here`);
  expect(readdirSync(elsewhere)).toEqual([]);
});

test("automate serve refuses a symbolic link in place of its lock file, leaving the link's target unchanged", async () => {
  const { home, elsewhere } = folders();
  const target = join(elsewhere, 'precious');
  writeFileSync(target, 'precious');
  symlinkSync(target, join(home, 'serve.lock'));
  expect(() => takeServeLock(home, '/flows')).toThrow('serve.lock is a symbolic link, which is not allowed here');
  expect(await readFile(target, 'utf8')).toBe('precious');
});
