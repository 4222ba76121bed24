import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { detailsOf } from '../../core/error-code.ts';
import { type AutomateError, FlowError, type Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { orUndefined } from '../../core/value/value.ts';
import { isNoFile } from '../../io/files/stat.ts';
import { type FlowFileOptions, loadFlow } from './flow-file.ts';

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

/** A flow that was read, and the version of its file. */
interface Seen {
  /** Version of the file; empty if the file may change without a new version. */
  readonly version: string;
  readonly flow: ServedFlow;
}

/** A file of the folder that looks like a flow. */
interface Entry {
  readonly id: string;
  readonly file: string;
  readonly path: string;
  /** True for a symbolic link: its target can change although the folder does not. */
  readonly isLink: boolean;
  /** The reason for which a file with this name is not served; absent if it is served. */
  readonly reason: string | undefined;
}

/** The names in the folder. */
interface Listing {
  readonly version: string;
  readonly root: string;
  readonly entries: ReadonlyMap<string, Entry>;
}

/** All flows by id, and the files that are not served. */
export interface FlowList {
  readonly flows: readonly ServedFlow[];
  readonly unserved: readonly Unserved[];
}

/** A served flow, or undefined until its file is read. */
type Loaded = ServedFlow | undefined | Promise<ServedFlow | undefined>;

/** The state of the folder in one turn of the event loop. */
interface Turn {
  readonly listing: Listing;
  readonly loaded: Map<string, Loaded>;
  list: Promise<FlowList> | undefined;
}

/** A file of tests, such as flow.test.yaml, is no flow. */
const flowFile = /^(.+)(?<!\.test)\.ya?ml$/;

/** The shape of a flow's id. */
export const flowId = /^[A-Za-z0-9_-]{1,64}$/;

/** Two changes within this time may leave the same time on a file: file systems count in steps of up to 2 s. */
const stepMs = 2000;

/** The options that the flows of a folder are compiled with. */
export type FlowFolderOptions = Pick<FlowFileOptions, 'allowHttp' | 'env' | 'withoutFiles' | 'var' | 'otherVariable' | 'caller'>;

/** The flows of a folder. A changed file counts from the next request on. */
export class FlowFolder {
  readonly #dir: string;
  readonly #options: FlowFolderOptions;
  readonly #wallNow: () => number;
  readonly #seen = new Map<string, Seen>();
  #listing: Listing | undefined;
  #turn: Turn | undefined;

  constructor(dir: string, { wallNow = Date.now, ...options }: FlowFolderOptions & { readonly wallNow?: () => number }) {
    this.#dir = dir;
    this.#options = options;
    this.#wallNow = wallNow;
  }

  /** All flows by id, and the files that are not served. */
  list(): Promise<FlowList> {
    const turn = this.#thisTurn();
    turn.list ??= this.#all(turn);
    return turn.list;
  }

  /** The flow with an id; absent if no flow with that id is served. */
  async find(id: string): Promise<ServedFlow | undefined> {
    if (!flowId.test(id)) return undefined;
    const turn = this.#thisTurn();
    const { entries, root } = turn.listing;
    const entry = entries.get(`${id}.yaml`) ?? entries.get(`${id}.yml`);
    return entry && unservedReason(entry, root) === undefined ? this.#loadOnce(entry, turn) : undefined;
  }

  /** Requests that are read in one turn of the event loop were sent before it: they share one look at the files. */
  #thisTurn(): Turn {
    if (!this.#turn) {
      this.#turn = { listing: this.#list(), loaded: new Map(), list: undefined };
      setImmediate(() => {
        this.#turn = undefined;
      });
    }
    return this.#turn;
  }

  async #all(turn: Turn): Promise<FlowList> {
    const { entries, root } = turn.listing;
    const unserved: Unserved[] = [];
    const flows: Loaded[] = [];
    for (const entry of entries.values()) {
      const reason = unservedReason(entry, root);
      if (reason === undefined) flows.push(this.#loadOnce(entry, turn));
      else unserved.push({ file: entry.file, reason });
    }
    return { flows: (await Promise.all(flows)).filter((flow) => flow !== undefined), unserved };
  }

  #loadOnce(entry: Entry, { loaded }: Turn): Loaded {
    if (!loaded.has(entry.path)) loaded.set(entry.path, this.#load(entry));
    return loaded.get(entry.path);
  }

  /** The names in the folder. They are read again when the folder has changed. */
  #list(): Listing {
    const version = this.#versionOf(statSync(this.#dir));
    if (this.#listing && version !== '' && this.#listing.version === version) return this.#listing;
    const root = realpathSync(this.#dir);
    this.#listing = { version, root, entries: entriesOf(root) };
    return this.#listing;
  }

  #load({ id, path }: Entry): Loaded {
    const stat = orUndefined(() => statSync(path, { throwIfNoEntry: false }));
    // Reading a pipe might never end.
    if (!stat?.isFile()) return undefined;
    const version = this.#versionOf(stat);
    const seen = this.#seen.get(path);
    return seen && version !== '' && seen.version === version ? seen.flow : this.#read(id, path, stat);
  }

  async #read(id: string, path: string, stat: Stats): Promise<ServedFlow | undefined> {
    try {
      const text = await readFile(path, 'utf8');
      const etag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
      const version = this.#versionOf(stat);
      const seen = this.#seen.get(path)?.flow;
      // An unchanged flow stays the same object: calls then use the runtime that is open for it.
      const isSame = seen?.etag === etag && seen.updatedAt.getTime() === stat.mtime.getTime();
      const flow = isSame ? seen : { id, path, text, etag, updatedAt: stat.mtime, ...(await this.#check(id, path)) };
      this.#seen.set(path, { version, flow });
      return flow;
    } catch (error) {
      // The file was deleted meanwhile, or it is not readable.
      if (['ENOENT', 'EACCES', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
      throw error;
    }
  }

  /** Changes with every change of a file or folder. Empty while the next change might not be seen. */
  #versionOf({ mtimeMs, ctimeMs, size, ino, dev }: Stats): string {
    const ageMs = this.#wallNow() - Math.max(mtimeMs, ctimeMs);
    return ageMs > stepMs ? `${mtimeMs} ${ctimeMs} ${size} ${ino} ${dev}` : '';
  }

  async #check(id: string, path: string): Promise<Pick<ServedFlow, 'plan' | 'problems'>> {
    try {
      return { plan: await loadFlow(path, { ...this.#options, textCells: false, name: id }), problems: [] };
    } catch (error) {
      if (error instanceof FlowError) return { plan: undefined, problems: error.problems };
      // A variable that was given has a value that this flow refuses.
      if (detailsOf(error, 'invalid-option')) return { plan: undefined, problems: [error as AutomateError] };
      throw error;
    }
  }
}

function entriesOf(root: string): ReadonlyMap<string, Entry> {
  const found = readdirSync(root, { withFileTypes: true }).filter(({ name }) => flowFile.test(name));
  const idOf = ({ name }: Dirent) => (flowFile.exec(name) as RegExpExecArray)[1] as string;
  const counts = new Map<string, number>();
  for (const entry of found) counts.set(idOf(entry), (counts.get(idOf(entry)) ?? 0) + 1);
  const entries = found
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((entry): [string, Entry] => {
      const id = idOf(entry);
      const doubled = (counts.get(id) ?? 0) > 1 ? `two files have the id ${id}` : undefined;
      const reason = flowId.test(id) ? doubled : 'expected a name of 1 to 64 letters, digits, _ and -';
      return [entry.name, { id, file: entry.name, path: join(root, entry.name), isLink: entry.isSymbolicLink(), reason }];
    });
  return new Map(entries);
}

function unservedReason({ reason, path, isLink }: Entry, root: string): string | undefined {
  if (reason !== undefined) return reason;
  if (isNoFile(path)) return 'it is not a file';
  if (!isLink) return undefined;
  const real = orUndefined(() => realpathSync(path));
  return real?.startsWith(`${root}${sep}`) ? undefined : 'it is a link that leads out of the folder';
}
