import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { KeySettings } from '../../src/io/server/api-key.ts';
import { ServerDatabase } from '../../src/io/server/database.ts';
import { KeyStore } from '../../src/io/server/keys.ts';

/** A moment of the wall clock. */
export const noon = Date.UTC(2026, 10, 24, 12);

/** A home folder, deleted after the test. */
export function serverHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'automate-serve-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** The database of a home, as one process has it open; closed after the test. */
export function serverDatabase(home = serverHome()): ServerDatabase {
  const database = new ServerDatabase(home);
  onTestFinished(() => database.close());
  return database;
}

/** Clocks that a test sets. */
export function setClock() {
  const clock = { monotonicMs: 1000, wallMs: noon, now: () => clock.monotonicMs, wallNow: () => clock.wallMs, pass };
  return clock;

  function pass(ms: number): void {
    clock.monotonicMs += ms;
    clock.wallMs += ms;
  }
}

/** The settings of a key that may run all flows. */
export function settings(more: Partial<KeySettings> = {}): KeySettings {
  return { name: 'crm', scopes: ['run'], flows: undefined, rate: '600/min', quota: undefined, expiresAtMs: undefined, ...more };
}

/** A store of keys with a clock that a test sets. */
export function keyStore(home = serverHome(), clock = setClock()) {
  const database = serverDatabase(home);
  return { store: new KeyStore(database, clock.wallNow), database, clock, home };
}
