import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { makeFolder } from '../io/files/folder.ts';
import { takeLock } from '../io/files/lock.ts';
import { namingErrors } from '../io/files/naming-errors.ts';
import { refuseLink } from '../io/files/state-file.ts';
import { type RunningServer, runningServer, serverLockPath } from '../io/server/running-server.ts';

/** The right to be the server of a home. */
export interface ServeLock {
  /** Notes the address. */
  serves(address: string): void;
  release(): void;
}

/** Takes the lock of a home. Throws an AutomateError: `output-exists` names another server, `output` a home that cannot be written, `credential` a symbolic link. */
export function takeServeLock(home: string, folder: string): ServeLock {
  const path = serverLockPath(home);
  // Their targets may be chosen by another user.
  for (const name of ['serve.lock', 'serve/runs', 'serve/links']) refuseLink(join(home, name));
  namingErrors(home, 'written', () => makeFolder(home));
  const lock = lockOrThrow(home);
  const note = (server: RunningServer) =>
    namingErrors(path, 'written', () => writeFileSync(path, `${JSON.stringify(server)}\n`, { mode: 0o600 }));
  note({ pid: process.pid, folder });
  return {
    serves: (address) => note({ pid: process.pid, address, folder }),
    release: lock.release,
  };
}

function lockOrThrow(home: string) {
  try {
    return takeLock(serverLockPath(home), 'port');
  } catch (error) {
    const server = runningServer(home);
    if (!(error instanceof AutomateError) || error.kind !== 'output-exists' || !server) throw error;
    const at = server.address === undefined ? '' : ` at ${server.address}`;
    throw new AutomateError(
      'output-exists',
      `another server runs on this home: process ${server.pid}${at}, with the flows of ${server.folder}\nstop it, or name another home in AUTOMATE_HOME`,
    );
  }
}
