import type { OutputRole } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { isInHome } from '../../io/files/home.ts';
import { fullPath, isLink, realFile, statOf } from '../../io/files/stat.ts';
import { inputPaths } from '../input/input.ts';
import type { RunOptions } from '../run-options.ts';
import type { OutputPlan } from './output-plan.ts';

/** The names of the files that a run writes, in messages. */
export const outputNames: Readonly<Record<OutputRole, string>> = {
  out: 'the output',
  errors: 'the errors file',
  events: 'the events file',
  summary: 'the summary',
  report: 'the report',
};

/**
 * Refuses outputs that would overwrite the input, the flow, one another, the run's own files, or the home folder (`usage`), and
 * links that lead nowhere (`output-exists`): the file would be made in a place that the link's author chose.
 */
export function refusePlaces(flow: string, options: RunOptions, plan: OutputPlan): void {
  const { events, summary, report } = options;
  const paths: Readonly<Record<OutputRole, string | undefined>> = { out: plan.out, errors: plan.errors, events, summary, report };
  const outputs = (Object.keys(paths) as OutputRole[]).map((of) => ({ what: outputNames[of], path: paths[of], of }));
  refuseSameFiles([...inputFiles(options), { what: 'the flow', path: flow }, ...outputs]);
  refuseSameFiles([...ownFiles(plan), ...outputs]);
  for (const { what, path, of } of outputs) {
    if (path === undefined || path === '-') continue;
    if (!plan.isOwn && isInHome(path, process.env)) {
      throw placeRefused('usage', `${what} ${path} is in the home folder of automate`, { of });
    }
    if (isLink(path) && !statOf(path)) {
      throw placeRefused('output-exists', `${path} is a symbolic link that leads nowhere`, { of, isRemovable: true });
    }
  }
}

function inputFiles(options: RunOptions): NamedFile[] {
  return inputPaths(options).map((path) => ({ what: 'the input', path }));
}

function placeRefused(
  kind: 'usage' | 'output-exists',
  message: string,
  { of, isRemovable = false }: { readonly of?: OutputRole; readonly isRemovable?: boolean },
): AutomateError {
  return new AutomateError(kind, message, of && { code: 'place-refused', details: { of, isRemovable } });
}

/** The files that a run has beside its output and its errors file. */
function ownFiles({ out, errors, isStreamed }: OutputPlan): NamedFile[] {
  const beside = (path: string, what: string, ending: string) => ({ what, path: `${realFile(path)}.automate-${ending}` });
  const ofErrors =
    errors === undefined || errors === '-'
      ? []
      : [beside(errors, 'the lock of the errors file', 'lock'), beside(errors, 'the new errors file', 'part')];
  if (isStreamed) return ofErrors;
  return [
    ...ofErrors,
    beside(out, 'the lock of the output', 'lock'),
    beside(out, 'the new output', 'part'),
    beside(out, 'the journal of the output', 'run'),
    beside(out, 'the journal of the output', 'run.new'),
    beside(out, 'the note about the complete run', 'complete'),
    beside(out, 'the note about the complete run', 'complete.new'),
    beside(out, 'the memory of the output', 'rows'),
    beside(out, 'the list of failed records of the output', 'failed'),
  ];
}

/** A file that a run reads or writes. */
interface NamedFile {
  /** Its role, for messages. */
  readonly what: string;
  readonly path: string | undefined;
  /** Its part in the run; undefined for a file that is no output. */
  readonly of?: OutputRole;
}

/** Throws an AutomateError (`usage`) if two of the files are one. */
function refuseSameFiles(files: readonly NamedFile[]): void {
  const byIdentity = new Map<string, NamedFile>();
  for (const file of files) {
    if (file.path === undefined || file.path === '-') continue;
    const found = statOf(file.path);
    // An existing file may have several names.
    const identity = found?.isFile() ? `${found.dev}/${found.ino}` : fullPath(file.path);
    const other = byIdentity.get(identity);
    const isDevice = found !== undefined && !found.isFile() && !found.isDirectory();
    const clash = other?.what === file.what ? 'named twice' : other?.what;
    if (other && !isDevice) throw placeRefused('usage', `${file.what} ${file.path} is ${clash}`, file);
    byIdentity.set(identity, file);
  }
}
