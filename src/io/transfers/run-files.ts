import { lstat } from 'node:fs/promises';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { FormPart, Save } from '../../core/files/transfer.ts';
import { FilesFolder } from './files-folder.ts';
import { FormUpload } from './form-upload.ts';
import { type BodyFacts, existing, SavedBody, type SavePlace, saveError } from './saved-body.ts';
import { SavedNames, type SavedNamesFile } from './saved-names.ts';

/** The files that a run may use. */
export interface RunFilesOptions {
  /** Undefined for a run without a folder for files. */
  readonly folder: string | undefined;
  /** The list of the files that it saves; undefined for a run that cannot be resumed. */
  readonly list?: SavedNamesFile | undefined;
  /** Real paths that no record may save to, with everything whose name begins with one of them: the files of the run itself. */
  readonly ownFiles?: readonly string[] | undefined;
  /** True if nothing is written. */
  readonly isTrial?: boolean | undefined;
}

/** The right of one request to save its answer. */
export interface ClaimedSave {
  /** Begins to write the body of an answer. */
  begin(facts: BodyFacts): SavedBody;
  /** Gives the place up, unless the file is there. Resolves once nothing more is written. */
  release(): Promise<void>;
}

/** The files that the records of one run send and save. */
export class RunFiles {
  readonly #folder: FilesFolder | undefined;
  readonly #names: SavedNames;
  readonly #isTrial: boolean;
  readonly #ownFiles: readonly string[];

  constructor({ folder, list, ownFiles = [], isTrial = false }: RunFilesOptions) {
    this.#ownFiles = ownFiles;
    this.#folder = folder === undefined ? undefined : new FilesFolder(folder);
    this.#names = new SavedNames(isTrial ? undefined : list);
    this.#isTrial = isTrial;
  }

  /** The body of a form that sends files. `key`: as in FormUpload. */
  upload(parts: readonly FormPart[], key: object): FormUpload {
    return new FormUpload(parts, key, this.#within());
  }

  /**
   * Claims the place of a file, before the request is sent. Throws a Failure (`output`) for a path that leads out of the folder, a file that
   * exists, and one that another record of the run saves.
   */
  async claim({ to: shown, replace, owner = '' }: Save): Promise<ClaimedSave> {
    const folder = this.#within();
    const names = this.#names;
    try {
      const path = await folder.place(shown, !this.#isTrial);
      if (this.#ownFiles.some((own) => path === own || path.startsWith(`${own}.automate-`)))
        throw new Failure('output', `the file "${shown}" belongs to the run itself`, { sent: false });
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
        async note() {
          await names.note(path, owner);
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

  /** Closes the list. */
  close(): Promise<void> {
    return this.#names.close();
  }

  #within(): FilesFolder {
    if (this.#folder) return this.#folder;
    throw new AutomateError('usage', 'there is no folder for files', { code: 'no-files-folder', details: {} });
  }
}

/** A link, a folder or a device at the place is never replaced. */
async function refuseExisting(path: string, shown: string, replaces: boolean): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found && !found.isFile()) throw new Failure('output', `"${shown}" is there, and is no file`, { sent: false });
  if (found && !replaces) throw existing(shown);
}
