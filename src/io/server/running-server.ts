import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { livingOwner } from '../files/owner.ts';

/** A server that runs on a home folder. */
export interface RunningServer {
  readonly pid: number;
  /** The address of the server; undefined until it listens. */
  readonly address?: string;
  /** The folder of the server's flows. */
  readonly folder: string;
}

/** The path of the file in which the server of a home folder records itself. */
export function serverLockPath(home: string): string {
  return join(home, 'serve.lock');
}

/** The server that runs on a home folder; undefined if none runs. */
export function runningServer(home: string): RunningServer | undefined {
  const lock = orUndefined(() => readFileSync(`${serverLockPath(home)}.automate-lock`, 'utf8'));
  return lock !== undefined && livingOwner(lock, () => true) ? lastServer(home) : undefined;
}

/** The server that runs on a home folder, or that ran last; undefined if none ever ran. */
export function lastServer(home: string): RunningServer | undefined {
  return orUndefined(() => JSON.parse(readFileSync(serverLockPath(home), 'utf8')) as RunningServer);
}
