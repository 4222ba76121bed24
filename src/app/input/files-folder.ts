import { dirname } from 'node:path';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import { type Plan, usesFiles } from '../../core/plan.ts';
import { statOf } from '../../io/files/stat.ts';

/** The options that say where the files of records are. */
export interface FilesOptions {
  /** The input; `-` or undefined if it is no file. */
  readonly in?: string | undefined;
  readonly files?: string | undefined;
}

/** The folder for the files of records: the one that the options name, or the one of the input. Undefined for an input that is no file. */
export function filesFolder({ in: input = '-', files }: FilesOptions): string | undefined {
  return files ?? (input === '-' ? undefined : dirname(input));
}

/** Throws an AutomateError (`usage`) for a folder for files that is none. */
export function refuseNoFolder(files: string | undefined): void {
  if (files !== undefined && !statOf(files)?.isDirectory()) throw invalidOption('files', `expected a folder, found ${files}`);
}

/** Throws an AutomateError (`usage`) if a flow sends or saves files and there is no folder for them. */
export function refuseWithoutFolder(plan: Plan, options: FilesOptions): void {
  refuseNoFolder(options.files);
  if (!usesFiles(plan) || filesFolder(options) !== undefined) return;
  const message = 'the flow sends or saves files, and without an input file there is no folder for them';
  throw new AutomateError('usage', message, { code: 'no-files-folder', details: {} });
}
