import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readQueueSecrets } from '../../../src/io/queue/queue-key.ts';

const key = 'sixteen letters!';

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'automate-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'key');
  writeFileSync(file, text);
  return file;
}

test('key and password are in variables', async () => {
  const found = await readQueueSecrets({ AUTOMATE_QUEUE_KEY: key, AUTOMATE_QUEUE_PASSWORD: 'pw' });
  expect(found).toEqual({ key, password: 'pw' });
});

test('key and password are in files, without the line break at the end', async () => {
  const found = await readQueueSecrets({ AUTOMATE_QUEUE_KEY_FILE: fileWith(`${key}\n`), AUTOMATE_QUEUE_PASSWORD_FILE: fileWith('pw\r\n') });
  expect(found).toEqual({ key, password: 'pw' });
});

test('without variables, or with empty ones, there is neither', async () => {
  expect(await readQueueSecrets({})).toEqual({ key: undefined, password: undefined });
  expect(await readQueueSecrets({ AUTOMATE_QUEUE_KEY: '', AUTOMATE_QUEUE_KEY_FILE: '' })).toEqual({ key: undefined, password: undefined });
});

test.each([
  ['a short key', { AUTOMATE_QUEUE_KEY: 'fifteen letters' }, 'expected a queue key of at least 16 characters, found 15'],
  [
    'two keys',
    { AUTOMATE_QUEUE_KEY: key, AUTOMATE_QUEUE_KEY_FILE: 'key' },
    'expected AUTOMATE_QUEUE_KEY or AUTOMATE_QUEUE_KEY_FILE, found both',
  ],
  ['two passwords', { AUTOMATE_QUEUE_PASSWORD: 'a', AUTOMATE_QUEUE_PASSWORD_FILE: 'b' }, 'AUTOMATE_QUEUE_PASSWORD_FILE, found both'],
  ['a missing file', { AUTOMATE_QUEUE_KEY_FILE: '/nowhere/key' }, 'AUTOMATE_QUEUE_KEY_FILE names a file that cannot be read'],
  ['two lines', { AUTOMATE_QUEUE_KEY: `${key}\n${key}` }, 'expected a secret on one line, found a line break in AUTOMATE_QUEUE_KEY'],
])('%s is refused', async (_name, environment, message) => {
  const refused = readQueueSecrets(environment);
  await expect(refused).rejects.toMatchObject({ kind: 'credential' });
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.not.toThrow(key);
});
