import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { loadFlow } from '../../cli/flow/flow-file.ts';
import { FlowError, type Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';

/** A flow that is served. */
export interface ServedFlow {
  /** The file's name without its ending. */
  readonly id: string;
  readonly path: string;
  readonly text: string;
  /** The hash of the text. */
  readonly etag: string;
  readonly updatedAt: Date;
  /** Absent for a flow that is not valid. */
  readonly plan: Plan | undefined;
  /** The problems of a flow that is not valid. */
  readonly problems: readonly Problem[];
}

/** A file that looks like a flow and is not served. */
export interface Unserved {
  readonly file: string;
  readonly reason: string;
}

interface Seen {
  readonly version: string;
  readonly flow: ServedFlow;
}

const flowFile = /^(.+)\.ya?ml$/;

/** The shape of a flow's id. */
export const flowId = /^[A-Za-z0-9_-]{1,64}$/;

/** The flows of a folder. A changed file counts from the next request on. */
export class FlowFolder {
  readonly #dir: string;
  readonly #allowHttp: boolean;
  readonly #seen = new Map<string, Seen>();

  constructor(dir: string, options: { readonly allowHttp: boolean }) {
    this.#dir = dir;
    this.#allowHttp = options.allowHttp;
  }

  /** All flows by id, and the files that are not served. */
  async list(): Promise<{ readonly flows: readonly ServedFlow[]; readonly unserved: readonly Unserved[] }> {
    const { files, unserved } = await this.#files();
    const flows = await Promise.all([...files].map(([id, path]) => this.#load(id, path)));
    return { flows: flows.filter((flow) => flow !== undefined), unserved };
  }

  /** A flow; absent if none of that id is served. */
  async find(id: string): Promise<ServedFlow | undefined> {
    if (!flowId.test(id)) return undefined;
    const path = (await this.#files()).files.get(id);
    return path === undefined ? undefined : this.#load(id, path);
  }

  async #files() {
    const root = await realpath(this.#dir);
    const names = (await readdir(root)).filter((name) => flowFile.test(name)).sort();
    const ids = names.map((name) => (flowFile.exec(name) as RegExpExecArray)[1] as string);
    const files = new Map<string, string>();
    const unserved: Unserved[] = [];
    for (const [index, file] of names.entries()) {
      const id = ids[index] as string;
      const path = join(root, file);
      const reason = await unservedReason(root, path, id, ids);
      if (reason === undefined) files.set(id, path);
      else unserved.push({ file, reason });
    }
    return { files, unserved };
  }

  async #load(id: string, path: string): Promise<ServedFlow | undefined> {
    try {
      const { mtime, mtimeMs, ctimeMs, size, ino } = await stat(path);
      const version = [mtimeMs, ctimeMs, size, ino].join(' ');
      const seen = this.#seen.get(path);
      if (seen?.version === version) return seen.flow;
      const text = await readFile(path, 'utf8');
      const etag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
      const flow = { id, path, text, etag, updatedAt: mtime, ...(await this.#check(id, path)) };
      this.#seen.set(path, { version, flow });
      return flow;
    } catch (error) {
      // It was deleted meanwhile, or it is not readable.
      if (['ENOENT', 'EACCES', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
      throw error;
    }
  }

  async #check(id: string, path: string): Promise<Pick<ServedFlow, 'plan' | 'problems'>> {
    try {
      return { plan: await loadFlow(path, { allowHttp: this.#allowHttp, textCells: false, name: id }), problems: [] };
    } catch (error) {
      if (error instanceof FlowError) return { plan: undefined, problems: error.problems };
      throw error;
    }
  }
}

async function unservedReason(root: string, path: string, id: string, ids: readonly string[]): Promise<string | undefined> {
  if (!flowId.test(id)) return 'expected a name of 1 to 64 letters, digits, _ and -';
  if (ids.filter((other) => other === id).length > 1) return `two files have the id ${id}`;
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || !real.startsWith(`${root}${sep}`)) return 'it is a link that leads out of the folder';
  return undefined;
}
