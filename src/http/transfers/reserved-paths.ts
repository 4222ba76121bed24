import { readdirSync, type Stats } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { orUndefined } from '../../core/value/value.ts';
import { realPath, statOf } from '../../files/stat.ts';

/** A file or folder that records can neither send nor save to. */
export interface ReservedPath {
  /** The absolute path. Nothing needs to exist there yet. */
  readonly path: string;
  /** `file` includes the state files `<path>.automate*`. `flows` are the YAML files directly in a folder. */
  readonly kind: 'file' | 'folder' | 'flows';
  /** The continuation of "it is" in messages, such as "the flow". */
  readonly what: string;
}

/** Compares existing files by device and inode, because one file can have several paths: hard links, bind mounts, other spellings. */
export class ReservedPaths {
  readonly #files: readonly ReservedPath[];
  readonly #folders: readonly ReservedPath[];
  readonly #sameFiles: FilesByIdentity;
  readonly #filesInFolders: FilesByIdentity;

  constructor(paths: readonly ReservedPath[]) {
    const real = paths.map((reserved) => ({ ...reserved, path: realPath(reserved.path) }));
    this.#files = real.filter(({ kind }) => kind === 'file');
    this.#folders = real.filter(({ kind }) => kind !== 'file');
    this.#sameFiles = new FilesByIdentity(() => this.#files.flatMap((file) => withIdentity(file.path, file)));
    this.#filesInFolders = new FilesByIdentity(() => this.#folders.flatMap((folder) => filesIn(folder)));
  }

  /** `path` is a real path, whose last folders may be missing. `found` is the file there. Undefined if the path is free. */
  at(path: string, found: Stats | undefined): string | undefined {
    const same = found && this.#sameFiles.of(found);
    const reserved = this.#named(path) ?? same ?? this.#around(path) ?? (found && this.#linked(found));
    return reserved?.what;
  }

  #named(path: string): ReservedPath | undefined {
    return this.#files.find((file) => path === file.path || isStateFile(path, file.path));
  }

  #around(path: string): ReservedPath | undefined {
    const byIdentity = new Map<string, ReservedPath>();
    for (const folder of this.#folders) {
      const found = statOf(folder.path);
      if (found) byIdentity.set(identityOf(found), folder);
      // Until the folder exists, only its name can be compared, and the file system may ignore case.
      else if (isInside(path.toLowerCase(), folder.path.toLowerCase())) return folder;
    }
    for (let folder = dirname(path), last = path; folder !== last; last = folder, folder = dirname(folder)) {
      const found = statOf(folder);
      const reserved = found && byIdentity.get(identityOf(found));
      if (reserved && (reserved.kind === 'folder' || isFlowIn(folder, path))) return reserved;
    }
    return undefined;
  }

  /** Returns the reserved folder that contains a hard link to a file. */
  #linked(found: Stats): ReservedPath | undefined {
    return found.nlink > 1 ? this.#filesInFolders.of(found) : undefined;
  }
}

/** Coarsest resolution of the time of change in common file systems, in ms (FAT). */
const clockStepMs = 2000;

class FilesByIdentity {
  readonly #read: () => readonly (readonly [string, ReservedPath])[];
  #files = new Map<string, ReservedPath>();
  #readAtMs = 0;

  constructor(read: () => readonly (readonly [string, ReservedPath])[]) {
    this.#read = read;
  }

  /** Reads the reserved files again only if the found file has a newer time of change, as after creating, linking or renaming. */
  of(found: Stats): ReservedPath | undefined {
    if (found.ctimeMs + clockStepMs > this.#readAtMs) {
      this.#readAtMs = Date.now();
      this.#files = new Map(this.#read());
    }
    return this.#files.get(identityOf(found));
  }
}

/** The state files of an output are next to it. Upper case counts as well, because the file system may ignore case. */
function isStateFile(path: string, file: string): boolean {
  return (
    dirname(path) === dirname(file) &&
    basename(path)
      .toLowerCase()
      .startsWith(`${basename(file).toLowerCase()}.automate`)
  );
}

function isFlowIn(folder: string, path: string): boolean {
  return folder === dirname(path) && isYaml(path);
}

function isYaml(path: string): boolean {
  return /\.ya?ml$/i.test(path);
}

/** True if a path is a folder, or is in this folder. Both must be absolute. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function filesIn(folder: ReservedPath): [string, ReservedPath][] {
  const isWhole = folder.kind === 'folder';
  const names = orUndefined(() => readdirSync(folder.path, { recursive: isWhole, encoding: 'utf8' })) ?? [];
  return names.flatMap((name) => (isWhole || isYaml(name) ? withIdentity(join(folder.path, name), folder) : []));
}

function withIdentity(path: string, reserved: ReservedPath): [string, ReservedPath][] {
  const found = statOf(path);
  return found ? [[identityOf(found), reserved]] : [];
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
