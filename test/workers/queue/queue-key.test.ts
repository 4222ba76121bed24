import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readQueueSecrets } from '../../../src/workers/queue/queue-keys.ts';

const key = 'sixteen letters!';

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'automate-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'key');
  writeFileSync(file, text);
  return file;
}

test('the queue key and the Redis password can be in variables', async () => {
  const found = await readQueueSecrets({ AUTOMATE_QUEUE_KEY: key, AUTOMATE_QUEUE_PASSWORD: 'pw' });
  expect(found).toEqual({ key, password: 'pw' });
});

test('the queue key and the Redis password can be in files, whose final line break is ignored', async () => {
  const found = await readQueueSecrets({ AUTOMATE_QUEUE_KEY_FILE: fileWith(`${key}\n`), AUTOMATE_QUEUE_PASSWORD_FILE: fileWith('pw\r\n') });
  expect(found).toEqual({ key, password: 'pw' });
});

test('the Redis password is undefined if its variables are missing or empty', async () => {
  expect(await readQueueSecrets({ AUTOMATE_QUEUE_KEY: key })).toEqual({ key, password: undefined });
  expect(await readQueueSecrets({ AUTOMATE_QUEUE_KEY: key, AUTOMATE_QUEUE_PASSWORD: '' })).toEqual({ key, password: undefined });
});

test.each([
  ['missing', {}, 'there is no queue key'],
  ['empty', { AUTOMATE_QUEUE_KEY: '', AUTOMATE_QUEUE_KEY_FILE: '' }, 'there is no queue key'],
  ['too short', { AUTOMATE_QUEUE_KEY: 'fifteen letters' }, 'expected a queue key of at least 16 characters, found 15'],
  ['short although its characters are long', { AUTOMATE_QUEUE_KEY: '🔑'.repeat(15) }, 'at least 16 characters, found 15'],
  ['one character repeated', { AUTOMATE_QUEUE_KEY: 'x'.repeat(40) }, 'expected a random queue key, found one character repeated'],
  ['one long character repeated', { AUTOMATE_QUEUE_KEY: '🔑'.repeat(40) }, 'found one character repeated'],
])('a queue key that is %s is refused with the command that makes one', async (_name, environment, message) => {
  const refused = readQueueSecrets(environment);
  await expect(refused).rejects.toMatchObject({ kind: 'credential' });
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.toThrow(
    '\nmake one: openssl rand -base64 24\nset AUTOMATE_QUEUE_KEY to it for every run, worker and server of the queue',
  );
});

test('a queue key in a file is refused if it could be guessed', async () => {
  await expect(readQueueSecrets({ AUTOMATE_QUEUE_KEY_FILE: fileWith(`${'0'.repeat(32)}\n`) })).rejects.toThrow('one character repeated');
});

test.each([
  [
    'a queue key in both variables',
    { AUTOMATE_QUEUE_KEY: key, AUTOMATE_QUEUE_KEY_FILE: 'key' },
    'expected AUTOMATE_QUEUE_KEY or AUTOMATE_QUEUE_KEY_FILE, found both',
  ],
  [
    'a password in both variables',
    { AUTOMATE_QUEUE_KEY: key, AUTOMATE_QUEUE_PASSWORD: 'a', AUTOMATE_QUEUE_PASSWORD_FILE: 'b' },
    'AUTOMATE_QUEUE_PASSWORD_FILE, found both',
  ],
  [
    'a file that does not exist',
    { AUTOMATE_QUEUE_KEY_FILE: '/nowhere/key' },
    'AUTOMATE_QUEUE_KEY_FILE is set to a file that cannot be read',
  ],
  [
    'a file with two lines',
    { AUTOMATE_QUEUE_KEY: `${key}\n${key}` },
    'expected a secret on one line, found a line break in AUTOMATE_QUEUE_KEY',
  ],
])('a queue key or Redis password is refused if the environment has %s', async (_name, environment, message) => {
  const refused = readQueueSecrets(environment);
  await expect(refused).rejects.toMatchObject({ kind: 'credential' });
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.not.toThrow(key);
});
