import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { KeySettings } from '../../src/serve/store/api-key.ts';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import { KeyStore } from '../../src/serve/store/keys.ts';

/** A fixed time of the wall clock. */
export const noon = Date.UTC(2026, 10, 24, 12);

/** Creates a home folder that is deleted after the test. */
export function serverHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'automate-serve-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Opens the database of a home as a process does. It is closed after the test. */
export function serverDatabase(home = serverHome()): ServerDatabase {
  const database = new ServerDatabase(home);
  onTestFinished(() => database.close());
  return database;
}

/** Creates clocks whose time a test sets. */
export function setClock() {
  const clock = { monotonicMs: 1000, wallMs: noon, now: () => clock.monotonicMs, wallNow: () => clock.wallMs, pass };
  return clock;

  function pass(ms: number): void {
    clock.monotonicMs += ms;
    clock.wallMs += ms;
  }
}

/** Returns the settings of a key that may run all flows. */
export function settings(more: Partial<KeySettings> = {}): KeySettings {
  return { name: 'crm', scopes: ['run'], flows: undefined, rate: '600/min', quota: undefined, expiresAtMs: undefined, ...more };
}

/** Creates a store of API keys with a clock whose time a test sets. */
export function keyStore(home = serverHome(), clock = setClock()) {
  const database = serverDatabase(home);
  return { store: new KeyStore(database, clock.wallNow), database, clock, home };
}
