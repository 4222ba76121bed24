import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import type { NetworkAddress } from '../core/run-options.ts';
import { makeFolder } from '../files/folder.ts';
import { takeLock } from '../files/lock.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { refuseLink } from '../files/state-file.ts';
import type { RunWorkersOptions } from '../workers/workers-of-run.ts';
import type { ListeningOptions } from './listening.ts';
import { type RunningServer, runningServer, serverLockPath } from './store/links.ts';

export interface ServeLock {
  /** Records in the lock file the URL at which the server listens. */
  serves(address: string): void;
  release(): void;
}

/**
 * Takes the server lock of a home folder. Throws an AutomateError: `output-exists` if another server has the lock, `output` if the folder
 * cannot be written, `credential` if it contains a symbolic link.
 */
export function takeServeLock(home: string, folder: string): ServeLock {
  const path = serverLockPath(home);
  // Refuses symbolic links, because another user might have created them to redirect what the server writes.
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
      `another server already uses this home folder: process ${server.pid}${at}, with the flows of ${server.folder}\nstop it, or set AUTOMATE_HOME to another folder`,
    );
  }
}

export interface ServeOptions extends ListeningOptions, RunWorkersOptions {
  readonly port: number;
  /** Time in ms that requests in progress have to finish after a signal. */
  readonly grace: number;
  /** If false, a run that a crash interrupted waits until a person resumes it. */
  readonly resume: boolean;
  readonly mcp: boolean;
  readonly log: 'text' | 'json';
  readonly metrics?: NetworkAddress;
  readonly env?: string;
  readonly allowHttp?: boolean;
  /** The folder of the files that flows send and save; undefined if there is none. */
  readonly files?: string;
  readonly maxRuns: number;
  readonly maxQueue: number;
  readonly maxUpload: number;
  readonly maxDisk: number;
  readonly keep: number;
  readonly ui: boolean;
  readonly edit?: boolean;
  readonly open?: boolean;
}
