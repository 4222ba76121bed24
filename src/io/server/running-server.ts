import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { orUndefined } from '../../core/value/or-undefined.ts';
import { livingOwner } from '../files/owner.ts';

/** A server that runs on a home folder. */
export interface RunningServer {
  readonly pid: number;
  /** The address at which the server listens; absent until it listens. */
  readonly address?: string;
  /** The folder of its flows. */
  readonly folder: string;
}

/** The file in which the server of a home folder writes its process and address. */
export function serverLockPath(home: string): string {
  return join(home, 'serve.lock');
}

/** The server that runs on a home folder; absent if no server runs. */
export function runningServer(home: string): RunningServer | undefined {
  const lock = orUndefined(() => readFileSync(`${serverLockPath(home)}.automate-lock`, 'utf8'));
  return lock !== undefined && livingOwner(lock, () => true) ? lastServer(home) : undefined;
}

/** The server that runs or ran last on a home folder; absent if no server ever ran there. */
export function lastServer(home: string): RunningServer | undefined {
  return orUndefined(() => JSON.parse(readFileSync(serverLockPath(home), 'utf8')) as RunningServer);
}
