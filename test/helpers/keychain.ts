import { mkdir } from 'node:fs/promises';
import type { Workplace } from './cli.ts';

/** Adds a credential to the list of those that are stored in the keychain, without accessing a keychain. */
export async function listInKeychain(place: Workplace, name: string): Promise<void> {
  const credential = { name, env: 'default', backend: 'keychain', setAt: '2026-01-01T00:00:00.000Z' };
  await mkdir(place.path('.automate'), { recursive: true });
  await place.write('.automate/credentials.json', JSON.stringify({ version: 1, credentials: [credential] }));
}
