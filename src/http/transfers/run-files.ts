import { lstat } from 'node:fs/promises';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { FormPart, Save, SaveNames } from '../../core/transfer.ts';
import type { OutputSpace } from '../../files/folder.ts';
import { type SavedLog, SavedNames } from '../../files/saved-names.ts';
import { FilesFolder } from './files-folder.ts';
import { contentOf, FormUpload } from './form-upload.ts';
import type { ReservedPath } from './reserved-paths.ts';
import { type BodyFacts, existing, SavedBody, type SavePlace, saveError } from './saved-body.ts';

/** Settings that specify which files the records of a run may send and save. */
export interface RunFilesOptions {
  /** Undefined if the run sends and saves no files. */
  readonly folder: string | undefined;
  /** The list of the files that the run saves; undefined if it cannot be resumed. */
  readonly log?: SavedLog;
  /** The disk space that the saved files may use; undefined if it is not limited. */
  readonly space?: OutputSpace;
  /** Lets another process keep track of the saved files; undefined if this process does so itself. */
  readonly names?: SaveNames;
  /** The files and folders that records can neither send nor save to, such as the flow and the output. */
  readonly reserved?: readonly ReservedPath[];
  /** A trial run saves no files. */
  readonly isTrial?: boolean;
}

/** A path that is reserved for saving the response to a request. */
export interface ClaimedSave {
  begin(facts: BodyFacts): SavedBody;
  /** Ends the reservation of the path, unless the file has already been saved. Resolves once writing has stopped. */
  release(): Promise<void>;
}

/** The files that the records of a run send and save. */
export class RunFiles {
  readonly #folder: FilesFolder | undefined;
  readonly names: SaveNames;
  readonly #isTrial: boolean;

  constructor({ folder, log, space, names, reserved = [], isTrial = false }: RunFilesOptions) {
    this.#folder = folder === undefined ? undefined : new FilesFolder(folder, reserved);
    this.names = names ?? new SavedNames(isTrial ? undefined : log, space);
    this.#isTrial = isTrial;
  }

  /** `key` identifies the request's form, see FormUpload. */
  upload(parts: readonly FormPart[], key: object): FormUpload {
    return new FormUpload(parts, key, this.#within());
  }

  /** A hash of the contents of files that a request sends. Throws a Failure (`request`) if one cannot be read. */
  contentOf(paths: readonly string[]): Promise<string> {
    return contentOf(paths, this.#within());
  }

  /**
   * Claims the path of a file before the request is sent. Throws a Failure (`output`) if the path leads out of the folder or is reserved,
   * if another record of the run saves to it, or if the file exists and may not be replaced.
   */
  async claim({ to: shown, replace, owner = '' }: Save): Promise<ClaimedSave> {
    const folder = this.#within();
    const { names } = this;
    try {
      const path = await folder.place(shown, !this.#isTrial);
      const claimed = await names.claim(path, owner);
      if (claimed === 'taken') throw new Failure('output', `another record of this run saves "${shown}"`, { sent: false });
      const replaces = replace || claimed === 'own';
      let isSaved = claimed === 'own';
      const release = () => {
        if (!isSaved) names.release(path);
      };
      await refuseExisting(path, shown, replaces).catch((error) => {
        release();
        throw error;
      });
      const place: SavePlace = {
        ...{ shown, path, replaces, isTrial: this.#isTrial },
        refuseOpen: (handle, at) => folder.refuseOpen(handle, at, shown),
        async note(bytes) {
          await names.note(path, owner, bytes);
          isSaved = true;
        },
        async takeBack() {
          isSaved = false;
          await names.takeBack(path);
        },
      };
      let body: SavedBody | undefined;
      return {
        begin(facts) {
          body = new SavedBody(place, facts);
          return body;
        },
        async release() {
          await body?.settled();
          release();
        },
      };
    } catch (error) {
      throw saveError(shown, error);
    }
  }

  #within(): FilesFolder {
    if (this.#folder) return this.#folder;
    throw new AutomateError('usage', 'there is no folder for files', { code: 'no-files-folder', details: {} });
  }
}

/** Throws a Failure (`output`). Symbolic links, folders and devices may never be replaced. */
async function refuseExisting(path: string, shown: string, replaces: boolean): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found && !found.isFile()) throw new Failure('output', `"${shown}" exists, and is not a file`, { sent: false });
  if (found && !replaces) throw existing(shown);
}
