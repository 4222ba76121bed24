import { AutomateError } from '../../core/failure.ts';
import { isInHome } from '../../io/files/home.ts';
import { fullPath, isLink, realFile, statOf } from '../../io/files/stat.ts';
import type { RunOptions } from '../run-options.ts';
import type { OutputPlan } from './output-plan.ts';

/**
 * Refuses outputs that would overwrite the input, the flow, one another, the run's own files, or the home folder (`usage`), and
 * links that lead nowhere (`output-exists`): the file would be made in a place that the link's author chose.
 */
export function refusePlaces(flow: string, options: RunOptions, plan: OutputPlan): void {
  const outputs: readonly NamedFile[] = [
    { what: 'the output', path: plan.out, option: '--out' },
    { what: 'the errors file', path: plan.errors, option: '--errors' },
    { what: 'the events file', path: options.events, option: '--events' },
    { what: 'the summary', path: options.summary, option: '--summary' },
    { what: 'the report', path: options.report, option: '--report' },
  ];
  refuseSameFiles([{ what: 'the input', path: options.in }, { what: 'the flow', path: flow }, ...outputs]);
  refuseSameFiles([...ownFiles(plan), ...outputs]);
  for (const { what, path, option } of outputs) {
    if (path === undefined || path === '-') continue;
    if (!plan.isOwn && isInHome(path, process.env)) {
      throw new AutomateError('usage', `${what} ${path} is in the home folder of automate\nname another with ${option}`);
    }
    if (isLink(path) && !statOf(path)) {
      throw new AutomateError('output-exists', `${path} is a symbolic link that leads nowhere\nremove it, or name another with ${option}`);
    }
  }
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
    beside(out, 'the list of failed records of the output', 'failed'),
  ];
}

/** A file that a run reads or writes. */
interface NamedFile {
  /** Its role, for messages. */
  readonly what: string;
  readonly path: string | undefined;
  /** The option that names another path. */
  readonly option?: string;
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
    const advice = file.option === undefined ? '' : `; name another with ${file.option}`;
    const isDevice = found !== undefined && !found.isFile() && !found.isDirectory();
    if (other && !isDevice) throw new AutomateError('usage', `${file.what} ${file.path} is ${other.what}${advice}`);
    byIdentity.set(identity, file);
  }
}
