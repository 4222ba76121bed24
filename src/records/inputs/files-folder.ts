import { dirname, join } from 'node:path';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import { type Plan, usesFiles } from '../../core/plan.ts';
import { isInHome } from '../../files/home.ts';
import { statOf } from '../../files/stat.ts';

/** Options that determine the folder for files that records send and save. */
export interface FilesOptions {
  /** The path of the input; `-` or undefined if the input is not a file. */
  readonly in?: string | undefined;
  readonly files?: string | undefined;
}

/**
 * Returns the folder for files that records send and save: the folder in the options, or else the input file's folder. Undefined if there
 * is neither, as when the input is stdin.
 */
export function filesFolder({ in: input = '-', files }: FilesOptions): string | undefined {
  return files ?? (input === '-' ? undefined : dirname(input));
}

/** Throws an AutomateError (`usage`) if `files` is not the path of a folder, or is in automate's home folder. */
export function refuseNoFolder(files: string | undefined): void {
  if (files === undefined) return;
  if (!statOf(files)?.isDirectory()) throw invalidOption('files', `expected a folder, found ${files}`);
  if (isInHome(join(files, 'any'), process.env))
    throw invalidOption('files', `expected a folder outside automate's home folder, found ${files}`);
}

/** Throws an AutomateError (`usage`) if a flow sends or saves files but there is no folder for them. */
export function refuseWithoutFolder(plan: Plan, options: FilesOptions): void {
  refuseNoFolder(options.files);
  if (!usesFiles(plan) || filesFolder(options) !== undefined) return;
  const message = 'the flow sends or saves files, and without an input file there is no folder for them';
  throw new AutomateError('usage', message, { code: 'no-files-folder', details: {} });
}
