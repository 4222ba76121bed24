import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { livingOwner } from '../../files/owner.ts';

/** A server that uses this home folder of automate, or has used it earlier. */
export interface RunningServer {
  readonly pid: number;
  /** The URL of the server; undefined until it accepts connections. */
  readonly address?: string;
  /** The folder with the flows that the server offers. */
  readonly folder: string;
}

/** Returns the path of the file, in automate's home folder, in which a server stores its process id, its URL and its folder. */
export function serverLockPath(home: string): string {
  return join(home, 'serve.lock');
}

/** Returns the server that is running with this home folder; undefined if there is none. */
export function runningServer(home: string): RunningServer | undefined {
  const lock = orUndefined(() => readFileSync(`${serverLockPath(home)}.automate-lock`, 'utf8'));
  return lock !== undefined && livingOwner(lock, () => true) ? lastServer(home) : undefined;
}

/**
 * Returns the server that was last started with this home folder, even if it has ended. Undefined if no server has ever been started with
 * it.
 */
export function lastServer(home: string): RunningServer | undefined {
  return orUndefined(() => JSON.parse(readFileSync(serverLockPath(home), 'utf8')) as RunningServer);
}
