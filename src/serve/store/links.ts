import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../../core/failure.ts';
import { orUndefined } from '../../core/value/value.ts';
import { makeFolder } from '../../files/folder.ts';
import { homeFolder } from '../../files/home.ts';
import { namingErrors } from '../../files/naming-errors.ts';
import { livingOwner } from '../../files/owner.ts';
import { statOf } from '../../files/stat.ts';
import { refuseLink } from '../../files/state-file.ts';

const linkMs = 10 * 60_000;

/** Links for logging in to the web page. Each is a file named after its token's hash, because a command in another process creates it. */
export class Links {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'serve', 'links');
  }

  /** Returns a token, which works once within 10 minutes. Throws an AutomateError: `credential` for a symbolic link, or `output`. */
  create(): string {
    refuseLink(this.#folder);
    const token = randomBytes(32).toString('base64url');
    namingErrors(this.#folder, 'written', () => {
      makeFolder(this.#folder);
      this.#removeOld();
      writeFileSync(this.#pathOf(token), '', { mode: 0o600, flag: 'wx' });
    });
    return token;
  }

  /** Uses up a one-time link. Returns false if the link has already been used, has expired or has never existed. */
  spend(token: string): boolean {
    const path = this.#pathOf(token);
    const isFresh = this.#isFresh(path);
    try {
      // If two requests use the same link, only one of them can remove the file. The other one fails.
      rmSync(path);
      return isFresh;
    } catch {
      return false;
    }
  }

  #pathOf(token: string): string {
    return join(this.#folder, createHash('sha256').update(token).digest('hex'));
  }

  #isFresh(path: string): boolean {
    const found = statOf(path);
    return found !== undefined && Date.now() - found.mtimeMs < linkMs;
  }

  #removeOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      if (!this.#isFresh(path)) rmSync(path, { force: true });
    }
  }
}

/** A server that uses this home folder of automate, or has used it earlier. */
export interface RunningServer {
  readonly pid: number;
  /** The URL of the server; undefined until it accepts connections. */
  readonly address?: string;
  readonly folder: string;
}

/** The file contains the server's process id, its URL and its folder. */
export function serverLockPath(home: string): string {
  return join(home, 'serve.lock');
}

export function runningServer(home: string): RunningServer | undefined {
  const lock = orUndefined(() => readFileSync(`${serverLockPath(home)}.automate-lock`, 'utf8'));
  return lock !== undefined && livingOwner(lock, () => true) ? lastServer(home) : undefined;
}

/** The server that was last started with this home folder, even if it has ended. */
export function lastServer(home: string): RunningServer | undefined {
  return orUndefined(() => JSON.parse(readFileSync(serverLockPath(home), 'utf8')) as RunningServer);
}

/** A link to log in to the page of the running server that uses this home folder. Throws an AutomateError (`usage`) if none is running. */
export function loginLink(): string {
  const home = homeFolder(process.env);
  const server = runningServer(home);
  if (!server?.address) throw usageError('no server is running with this home folder\nstart one: automate serve flows');
  return `${server.address}/login#${new Links(home).create()}`;
}
