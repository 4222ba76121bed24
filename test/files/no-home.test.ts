import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { afterEach, expect, test, vi } from 'vitest';
import { readConnections } from '../../src/credentials/connections-file.ts';
import { CredentialList } from '../../src/credentials/credential-list.ts';
import { homeFolder, homeIfAny, isInHome } from '../../src/files/home.ts';

const { homedir } = os;

function setHomedir(found: typeof homedir): void {
  os.homedir = found;
  syncBuiltinESMExports();
}

afterEach(() => {
  setHomedir(homedir);
  vi.unstubAllEnvs();
});

test('a user without a home folder has no credentials and connections, and the message says how to store some', async () => {
  // As Node does without HOME, if passwd has no entry for the user either.
  setHomedir(() => {
    throw new Error('uv_os_homedir returned ENOENT');
  });
  vi.stubEnv('AUTOMATE_HOME', undefined);
  vi.stubEnv('XDG_CONFIG_HOME', undefined);
  const advice = 'the user of this process has no home folder\nset AUTOMATE_HOME to a folder for credentials and other data';
  expect(() => homeFolder({})).toThrow(expect.objectContaining({ kind: 'usage', message: advice }));
  expect([readConnections({}), homeIfAny({}), isInHome('/tmp/out.csv', {})]).toEqual([{}, undefined, false]);
  const list = new CredentialList(homeIfAny({}));
  expect(list.all()).toEqual([]);
  await expect(list.alone(async () => 1)).rejects.toThrow(advice);
});

test('AUTOMATE_HOME needs no home folder', () => {
  expect(homeFolder({ AUTOMATE_HOME: '/data/automate' })).toBe('/data/automate');
});
