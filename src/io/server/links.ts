import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../files/folder.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { refuseLink } from '../files/state-file.ts';

const linkMs = 10 * 60_000;

/** The one-time links to the page. Each is an empty file, named after the hash of its token: the command that makes one is another process. */
export class Links {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'serve', 'links');
  }

  /** The token of a new link, which works once, for 10 minutes. Throws an AutomateError (`output`; `credential` for a symbolic link). */
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

  /** Uses up a link. Returns false if the link is used up, has expired or never existed. */
  spend(token: string): boolean {
    const path = this.#pathOf(token);
    const isFresh = this.#isFresh(path);
    try {
      // Of two requests with the same link, one removes the file.
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
