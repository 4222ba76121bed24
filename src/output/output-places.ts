import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OutputRole } from '../core/error-code.ts';
import { AutomateError } from '../core/failure.ts';
import { joinedFilesOf } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import { isInHome } from '../files/home.ts';
import { fullPath, isLink, realFile, statOf } from '../files/stat.ts';
import { inputPaths } from '../records/inputs.ts';
import { journalPath, readIdentity } from './journal/journal.ts';
import type { OutputPlan } from './output-plan.ts';
import { retriedTruth, truthPart } from './replace.ts';
import type { FlowInFile } from './run-identity.ts';
import { truthFactsIn, truthName, truthPath } from './truth-file.ts';

export const outputNames: Readonly<Record<OutputRole, string>> = {
  out: 'the output',
  errors: 'the errors file',
  events: 'the events file',
  summary: 'the summary',
  report: 'the report',
  gone: 'the file for gone records',
};

/**
 * Throws an AutomateError: `usage` if an output would overwrite the input, the flow, another output, a helper file or the home folder;
 * `output-exists` for a dangling link, whose author would choose the path.
 */
export function refusePlaces({ file: flow, plan: { steps } }: FlowInFile, options: RunOptions, plan: OutputPlan): void {
  const { events, summary, report } = options;
  const paths: Readonly<Record<OutputRole, string | undefined>> = {
    out: plan.out,
    errors: plan.errors,
    events,
    summary,
    report,
    gone: plan.gone?.out,
  };
  const outputs = (Object.keys(paths) as OutputRole[]).map((of) => ({ what: outputNames[of], path: paths[of], of }));
  const inputs = inputPaths(options).map((path) => ({ what: 'the input', path }));
  refuseSameFiles([...inputs, { what: 'the flow', path: flow }, ...outputs]);
  for (const path of new Set(joinedFilesOf({ steps }).map(({ path }) => path)))
    refuseSameFiles([{ what: 'a file that the flow joins', path }, ...outputs]);
  refuseSameFiles([...ownFiles(plan), ...outputs]);
  for (const { what, path, of } of outputs) {
    if (path === undefined || path === '-') continue;
    if (!plan.isOwn && isInHome(path, process.env)) {
      throw placeRefused('usage', `${what} ${path} must not be in automate's home folder`, { of });
    }
    if (isLink(path) && !statOf(path)) {
      throw placeRefused('output-exists', `${path} is a symbolic link to a file that does not exist`, { of, isRemovable: true });
    }
  }
}

function placeRefused(
  kind: 'usage' | 'output-exists',
  message: string,
  { of, isRemovable = false }: { readonly of?: OutputRole; readonly isRemovable?: boolean },
): AutomateError {
  return new AutomateError(kind, message, of && { code: 'place-refused', details: { of, isRemovable } });
}

/** Helper files next to the output and the errors file, such as the journal. */
function ownFiles({ out, errors, gone, isStreamed }: OutputPlan): NamedFile[] {
  const beside = (path: string, what: string, ending: string) => ({ what, path: `${realFile(path)}.automate-${ending}` });
  const ofErrors =
    errors === undefined || errors === '-'
      ? []
      : [beside(errors, 'the lock of the errors file', 'lock'), beside(errors, 'the new errors file', 'part')];
  if (isStreamed) return ofErrors;
  return [
    ...ofErrors,
    ...(gone
      ? [beside(gone.out, 'the lock of the file for gone records', 'lock'), beside(gone.out, 'the new file for gone records', 'part')]
      : []),
    beside(out, 'the lock of the output', 'lock'),
    beside(out, 'the new output', 'part'),
    beside(out, 'the journal of the output', 'run'),
    beside(out, 'the journal of the output', 'run.new'),
    beside(out, 'the kept answers of the output', 'answers'),
    { what: truthName, path: truthPath(realFile(out)) },
    { what: truthName, path: truthPart(out) },
    { what: truthName, path: retriedTruth(out) },
  ];
}

interface NamedFile {
  /** The purpose of the file, as it is called in messages. */
  readonly what: string;
  readonly path: string | undefined;
  /** Undefined for a file that is not an output. */
  readonly of?: OutputRole;
}

/** Throws an AutomateError (`usage`) if two of these paths lead to the same file. */
function refuseSameFiles(files: readonly NamedFile[]): void {
  const byIdentity = new Map<string, NamedFile>();
  for (const file of files) {
    if (file.path === undefined || file.path === '-') continue;
    const found = statOf(file.path);
    // Compares device and inode, because one file can have several paths.
    const identity = found?.isFile() ? `${found.dev}/${found.ino}` : fullPath(file.path);
    const other = byIdentity.get(identity);
    const isDevice = found !== undefined && !found.isFile() && !found.isDirectory();
    const clash = other?.what === file.what ? 'given twice' : other?.what;
    if (other && !isDevice) throw placeRefused('usage', `${file.what} ${file.path} is ${clash}`, file);
    byIdentity.set(identity, file);
  }
}

/** A different output with this errors file, whose run is unfinished or has failed records. Only the folders of both are searched. */
export async function ownerOfErrors(errors: string, out: string | undefined): Promise<string | undefined> {
  for (const folder of new Set([dirname(errors), dirname(out ?? errors)])) {
    const owner = await ownerIn(folder, errors, out);
    if (owner !== undefined) return owner;
  }
  return undefined;
}

async function ownerIn(folder: string, errors: string, out: string | undefined): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const name = entry.isFile() ? outputOf(folder, entry.name) : undefined;
    if (name === undefined || join(folder, name) === out) continue;
    const path = join(folder, entry.name);
    const identity = path.endsWith(truthPath('')) ? truthFactsIn(path)?.list?.identity : await readIdentity(path);
    if (identity?.errorsFile === errors) return join(folder, name);
  }
  return undefined;
}

/** The output of a journal or a truth. Ignores a truth whose output file no longer exists. */
function outputOf(folder: string, name: string): string | undefined {
  const [journal, truth] = [journalPath(''), truthPath('')];
  if (name.endsWith(journal)) return name.slice(0, -journal.length);
  const out = name.endsWith(truth) ? name.slice(0, -truth.length) : '';
  return out !== '' && statOf(join(folder, out)) ? out : undefined;
}
