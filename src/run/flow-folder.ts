import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Connection } from '../core/connection.ts';
import { type CodedMessage, detailsOf } from '../core/error-code.ts';
import { AutomateError, errorOf, FlowError, type Problem } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { orUndefined } from '../core/value/value.ts';
import { changeConnections, readConnections } from '../credentials/connections-file.ts';
import { isNoFile } from '../files/stat.ts';
import { compileSavedConnection } from '../flow/connections.ts';
import { type FlowFileOptions, loadFlow, loadLibraries } from './flow-file.ts';

/** A flow that the server provides, read from a file. */
export interface ServedFlow {
  /** The file name without the extension. */
  readonly id: string;
  readonly path: string;
  readonly text: string;
  readonly etag: string;
  readonly updatedAt: Date;
  readonly plan: Plan | undefined;
  readonly problems: readonly Problem[];
}

/** A file that looks like a flow but is not served. */
interface Unserved {
  readonly file: string;
  readonly reason: string;
}

interface Seen {
  /** Changes with the file. Empty if the file changed so recently that a further change might not change the string. */
  readonly version: string;
  /** The files beside the flow, such as schemas, with the state in which they were read. */
  readonly files: ReadonlyMap<string, string>;
  readonly flow: ServedFlow;
}

interface FolderEntry {
  readonly id: string;
  readonly file: string;
  readonly path: string;
  readonly isLink: boolean;
  /** The reason why a file with this name is not served; undefined if it is served. */
  readonly reason: string | undefined;
}

interface Listing {
  readonly version: string;
  readonly root: string;
  readonly entries: ReadonlyMap<string, FolderEntry>;
}

/** All flows in the order of their ids, and the files that are not served. */
export interface FlowList {
  readonly flows: readonly ServedFlow[];
  readonly unserved: readonly Unserved[];
}

/** A promise while the file is being read. Undefined if the file is not served. */
type LoadedFlow = ServedFlow | undefined | Promise<ServedFlow | undefined>;

/** The contents of the folder of flows, kept for one turn of the event loop. */
interface FolderTurn {
  readonly listing: Listing;
  readonly loaded: Map<string, LoadedFlow>;
  list: Promise<FlowList> | undefined;
}

/** A test file, such as flow.test.yaml, is not a flow. */
const flowFile = /^(.+)(?<!\.test)\.ya?ml$/;

/** Pattern for the id of a flow, which is the file name without extension. */
export const flowId = /^[A-Za-z0-9_-]{1,64}$/;

/** The coarsest file time stamps, in ms. Some file systems round to 2 s, so two changes within 2 s can have the same time stamp. */
const stepMs = 2000;

type FlowFolderOptions = Pick<FlowFileOptions, 'allowHttp' | 'env' | 'withoutFiles' | 'var' | 'otherVariable' | 'caller'>;

/** The flows in a folder. After a file is changed, the next request uses the new version. */
export class FlowFolder {
  readonly #dir: string;
  readonly #options: FlowFolderOptions;
  readonly #wallNow: () => number;
  readonly #seen = new Map<string, Seen>();
  #listing: Listing | undefined;
  #turn: FolderTurn | undefined;

  constructor(dir: string, { wallNow = Date.now, ...options }: FlowFolderOptions & { readonly wallNow?: () => number }) {
    this.#dir = dir;
    this.#options = options;
    this.#wallNow = wallNow;
  }

  list(): Promise<FlowList> {
    const turn = this.#thisTurn();
    turn.list ??= this.#all(turn);
    return turn.list;
  }

  /** Undefined if there is no such flow or the file is not served. */
  async find(id: string): Promise<ServedFlow | undefined> {
    if (!flowId.test(id)) return undefined;
    const turn = this.#thisTurn();
    const { entries, root } = turn.listing;
    const entry = entries.get(`${id}.yaml`) ?? entries.get(`${id}.yml`);
    return entry && unservedReason(entry, root) === undefined ? this.#loadOnce(entry, turn) : undefined;
  }

  /** Requests handled in one turn of the event loop can share the contents, because they were sent before the turn began. */
  #thisTurn(): FolderTurn {
    if (!this.#turn) {
      this.#turn = { listing: this.#list(), loaded: new Map(), list: undefined };
      setImmediate(() => {
        this.#turn = undefined;
      });
    }
    return this.#turn;
  }

  async #all(turn: FolderTurn): Promise<FlowList> {
    const { entries, root } = turn.listing;
    const unserved: Unserved[] = [];
    const flows: LoadedFlow[] = [];
    for (const entry of entries.values()) {
      const reason = unservedReason(entry, root);
      if (reason === undefined) flows.push(this.#loadOnce(entry, turn));
      else unserved.push({ file: entry.file, reason });
    }
    return { flows: (await Promise.all(flows)).filter((flow) => flow !== undefined), unserved };
  }

  #loadOnce(entry: FolderEntry, { loaded }: FolderTurn): LoadedFlow {
    if (!loaded.has(entry.path)) loaded.set(entry.path, this.#load(entry));
    return loaded.get(entry.path);
  }

  /** Reads the folder again only if it has changed. */
  #list(): Listing {
    const version = this.#versionOf(statSync(this.#dir));
    if (this.#listing && version !== '' && this.#listing.version === version) return this.#listing;
    const root = realpathSync(this.#dir);
    this.#listing = { version, root, entries: entriesOf(root) };
    return this.#listing;
  }

  #load({ id, path }: FolderEntry): LoadedFlow {
    const stat = orUndefined(() => statSync(path, { throwIfNoEntry: false }));
    // A pipe is never read, because reading it might never end.
    if (!stat?.isFile()) return undefined;
    const version = this.#versionOf(stat);
    const seen = this.#seen.get(path);
    return seen && version !== '' && seen.version === version && hasSameFiles(seen) ? seen.flow : this.#read(id, path, stat);
  }

  async #read(id: string, path: string, stat: Stats): Promise<ServedFlow | undefined> {
    try {
      const text = await readFile(path, 'utf8');
      const etag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
      const version = this.#versionOf(stat);
      const seen = this.#seen.get(path);
      // Keeps the object of an unchanged flow, so that calls find the runtime that is already open for this object.
      if (seen?.flow.etag === etag && seen.flow.updatedAt.getTime() === stat.mtime.getTime() && hasSameFiles(seen)) {
        this.#seen.set(path, { ...seen, version });
        return seen.flow;
      }
      const files = new Map<string, string>();
      const checked = await this.#check(id, path, (file) => files.set(file, stateOf(file)));
      const flow = { id, path, text, etag, updatedAt: stat.mtime, ...checked };
      this.#seen.set(path, { version, files, flow });
      return flow;
    } catch (error) {
      // The file was deleted, or it cannot be read.
      if (['ENOENT', 'EACCES', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
      throw error;
    }
  }

  /** Changes whenever the file or folder does. Empty if the last change is so recent that a further one could have the same time stamp. */
  #versionOf({ mtimeMs, ctimeMs, size, ino, dev }: Stats): string {
    const ageMs = this.#wallNow() - Math.max(mtimeMs, ctimeMs);
    return ageMs > stepMs ? `${mtimeMs} ${ctimeMs} ${size} ${ino} ${dev}` : '';
  }

  async #check(id: string, path: string, reads: FlowFileOptions['reads']): Promise<Pick<ServedFlow, 'plan' | 'problems'>> {
    try {
      return { plan: await loadFlow(path, { ...this.#options, textCells: false, name: id, reads }), problems: [] };
    } catch (error) {
      if (error instanceof FlowError) return { plan: undefined, problems: error.problems };
      // The flow does not allow the value that was set for one of its variables.
      if (detailsOf(error, 'invalid-option')) return { plan: undefined, problems: [error as AutomateError] };
      throw error;
    }
  }
}

function hasSameFiles({ files }: Seen): boolean {
  return [...files].every(([file, state]) => stateOf(file) === state);
}

/** Empty if there is no such file. */
function stateOf(file: string): string {
  const found = orUndefined(() => statSync(file));
  return found ? `${found.mtimeMs} ${found.ctimeMs} ${found.size} ${found.ino}` : '';
}

function entriesOf(root: string): ReadonlyMap<string, FolderEntry> {
  const found = readdirSync(root, { withFileTypes: true }).filter(({ name }) => flowFile.test(name));
  const idOf = ({ name }: Dirent) => (flowFile.exec(name) as RegExpExecArray)[1] as string;
  const counts = new Map<string, number>();
  for (const entry of found) counts.set(idOf(entry), (counts.get(idOf(entry)) ?? 0) + 1);
  const entries = found
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((entry): [string, FolderEntry] => {
      const id = idOf(entry);
      const doubled = (counts.get(id) ?? 0) > 1 ? `two files have the id ${id}` : undefined;
      const reason = flowId.test(id) ? doubled : 'expected a name of 1 to 64 letters, digits, _ and -';
      return [entry.name, { id, file: entry.name, path: join(root, entry.name), isLink: entry.isSymbolicLink(), reason }];
    });
  return new Map(entries);
}

function unservedReason({ reason, path, isLink }: FolderEntry, root: string): string | undefined {
  if (reason !== undefined) return reason;
  if (isNoFile(path)) return 'it is not a file';
  if (!isLink) return undefined;
  const real = orUndefined(() => realpathSync(path));
  return real?.startsWith(`${root}${sep}`) ? undefined : 'it is a link that leads out of the folder';
}

/** The connection as written in its file. Throws an AutomateError (`credential`) if there is none. */
export function findSaved(name: string): Readonly<Record<string, unknown>> {
  const saved = readConnections(process.env);
  const found = Object.hasOwn(saved, name) ? saved[name] : undefined;
  if (found) return found;
  const names = Object.keys(saved);
  const choices = didYouMean(name, names) || (names.length === 0 ? '; none is saved' : `; available: ${names.join(', ')}`);
  throw new AutomateError('credential', `no connection "${name}"${choices}`);
}

/** Compiles the saved connection with this name. Throws an AutomateError (`credential`) if it does not exist or is not valid. */
export async function loadConnection(name: string, allowHttp: boolean): Promise<Connection> {
  const written = findSaved(name);
  await loadLibraries(JSON.stringify(written));
  try {
    return compileSavedConnection(name, written, allowHttp);
  } catch (error) {
    const { message, code, details } = error as Error & CodedMessage;
    throw errorOf('credential', { message: `the saved connection "${name}" is not valid: ${message}`, code, details });
  }
}

/** Saves a connection. Throws an AutomateError (`usage`) if another process has meanwhile saved a connection with the same name. */
export async function saveConnection(
  name: string,
  written: Readonly<Record<string, unknown>>,
  { force = false }: { readonly force?: boolean },
): Promise<void> {
  await changeConnections(process.env, (saved) => {
    if (Object.hasOwn(saved, name) && !force) throw connectionExists(name);
    return { ...saved, [name]: written };
  });
}

/** Returns the error for a name that another saved connection already uses. */
export function connectionExists(name: string): AutomateError {
  const facts = { code: 'connection-exists', details: { connection: name } } as const;
  return new AutomateError('usage', `there is a connection "${name}" already`, facts);
}
