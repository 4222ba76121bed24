import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { orUndefined } from '../core/or-undefined.ts';
import { makeFolder } from '../io/files/folder.ts';
import { takeLock } from '../io/files/lock.ts';
import { namingErrors } from '../io/files/naming-errors.ts';

/** A server that runs on this home. */
export interface RunningServer {
  readonly pid: number;
  /** Absent until it listens. */
  readonly address?: string;
  readonly folder: string;
}

/** The right to be the server of a home. */
export interface ServeLock {
  /** Notes the address. */
  serves(address: string): void;
  release(): void;
}

/** Takes the lock of a home. Throws an AutomateError: `output-exists` names another server, `output` a home that cannot be written. */
export function takeServeLock(home: string, folder: string): ServeLock {
  const path = join(home, 'serve.lock');
  namingErrors(home, 'written', () => makeFolder(home));
  const lock = lockOrThrow(path);
  const note = (server: RunningServer) =>
    namingErrors(path, 'written', () => writeFileSync(path, `${JSON.stringify(server)}\n`, { mode: 0o600 }));
  note({ pid: process.pid, folder });
  return {
    serves: (address) => note({ pid: process.pid, address, folder }),
    release: lock.release,
  };
}

function lockOrThrow(path: string) {
  try {
    return takeLock(path, '--port');
  } catch (error) {
    const server = runningServer(path);
    if (!(error instanceof AutomateError) || error.kind !== 'output-exists' || !server) throw error;
    const at = server.address === undefined ? '' : ` at ${server.address}`;
    throw new AutomateError(
      'output-exists',
      `another server runs on this home: process ${server.pid}${at}, with the flows of ${server.folder}\nstop it, or name another home in AUTOMATE_HOME`,
    );
  }
}

/** The server that a lock names; absent without one. */
export function runningServer(path: string): RunningServer | undefined {
  return orUndefined(() => JSON.parse(readFileSync(path, 'utf8')) as RunningServer);
}
