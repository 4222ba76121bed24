import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AutomateError } from '../../../core/failure.ts';
import { type Lock, takeLock } from '../../../io/files/lock.ts';
import { fullPath, realFile } from '../../../io/files/stat.ts';
import {
  type Checkpoint,
  continueJournal,
  createJournal,
  errorsFileKey,
  type FoundJournal,
  type Journal,
  journalPath,
  readJournal,
} from '../../../io/journal/journal.ts';
import { ownerOfErrors } from '../../../io/journal/owner-of-errors.ts';
import { untouched } from '../../../io/output/output.ts';
import { isRegularFile, refuseChanged } from '../../../io/output/sink.ts';
import { refuseMissing } from '../../../io/records/readers/input.ts';
import { count, counted } from '../../show/number.ts';
import type { RunOptions } from '../run-options.ts';
import { refusePlaces } from './output-places.ts';
import { isFileOrFree, type OutputPlan, refuseExistingErrors, refuseExistingFiles } from './output-plan.ts';
import { keepsOld, partsOf, removeParts, swapIn } from './replace.ts';
import { type FlowInFile, identityOf, isReplacing, refuseOtherRun } from './run-identity.ts';

/** The right to write a run's output, and the checkpoint at which the run begins. */
export interface Claim {
  /** The run's UUID. A resumed run keeps its first one. */
  readonly run: string;
  readonly from: Checkpoint;
  /** Records that an earlier run has parked. */
  readonly parked: FoundJournal['parked'];
  /** The files that the run writes: those of the plan, or parts that replace them in the end. */
  readonly work: OutputPlan;
  /** Creates or continues the journal; absent for a stream, in which nothing can be cut off. */
  begin(): Promise<Journal | undefined>;
  /** Puts the files of a complete run in place; absent if they are there already. */
  publish?(journal: Journal, saved: Checkpoint): Promise<void>;
  /** Gives the output up. */
  release(): void;
}

/**
 * Claims the output of a run. Throws an AutomateError if another run is writing it, if an earlier run did not finish it and
 * neither --resume nor --force is set, or if --resume finds another run's journal.
 */
export async function claimOutput(flow: FlowInFile, options: RunOptions, plan: OutputPlan): Promise<Claim> {
  refuseMixedFiles(flow.file, options, plan);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = errorsFileOf(plan);
  const release = takeLocks({ '--out': out, '--errors': errors });
  try {
    if (errors !== undefined) await refuseOthers(errors, out);
    return { ...(await (out === undefined ? claimStream(options, plan) : claimFile(flow, options, plan, journalPath(out)))), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Throws the AutomateError that `claimOutput` would throw for the files that exist. Writes nothing, locks included. */
export async function refuseOutput(flow: string, options: RunOptions, plan: OutputPlan): Promise<void> {
  refuseMixedFiles(flow, options, plan);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = errorsFileOf(plan);
  if (errors !== undefined) await refuseOthers(errors, out);
  await (out === undefined ? claimStream(options, plan) : findJournal(journalPath(out), options, plan));
}

/** Refuses one file or stream in two roles, and an input that does not exist. */
function refuseMixedFiles(flow: string, options: RunOptions, plan: OutputPlan): void {
  refusePlaces(flow, options, plan);
  refuseSharedStdout({ '--out': plan.out, '--errors': plan.errors, '--events': options.events, '--summary': options.summary });
  if (options.in !== '-') refuseMissing(options.in);
}

/** The errors file; absent if it is not a regular file, nor will be. */
function errorsFileOf({ errors }: OutputPlan): string | undefined {
  return errors !== undefined && isFileOrFree(errors) ? realFile(errors) : undefined;
}

/** Refuses the errors file of another output, also with --force. */
async function refuseOthers(errors: string, out: string | undefined): Promise<void> {
  const owner = await ownerOfErrors(fullPath(errors), out && fullPath(out));
  if (owner === undefined) return;
  const place = join(dirname(errors), owner);
  throw new AutomateError('output-exists', `${errors} is the errors file of ${place}\nname another with --errors`);
}

/** Refuses several outputs on stdout: no reader could separate them. */
function refuseSharedStdout(paths: Readonly<Record<string, string | undefined>>): void {
  const onStdout = Object.keys(paths).filter((option) => paths[option] === '-');
  if (onStdout.length > 1) throw new AutomateError('usage', `${onStdout.join(' and ')} write to stdout; only one of them can`);
}

/** Takes all of the locks or none. Returns what releases them. */
function takeLocks(paths: Readonly<Record<string, string | undefined>>): () => void {
  const locks: Lock[] = [];
  const release = () => {
    for (const lock of locks) lock.release();
  };
  try {
    for (const [option, path] of Object.entries(paths)) if (path !== undefined) locks.push(takeLock(path, option));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

async function claimStream(options: RunOptions, plan: OutputPlan): Promise<Omit<Claim, 'release'>> {
  if (options.resume) throw new AutomateError('usage', '--resume needs an output file: a stream cannot be resumed\nname a file with --out');
  if (options.replace)
    throw new AutomateError('usage', '--replace needs an output file: a stream replaces nothing\nname a file with --out');
  if (!options.force) await refuseExistingFiles(plan);
  return { run: randomUUID(), from: untouched, parked: new Map(), work: plan, begin: async () => undefined };
}

async function claimFile(flow: FlowInFile, options: RunOptions, plan: OutputPlan, path: string): Promise<Omit<Claim, 'release'>> {
  const identity = await identityOf(flow, options, plan);
  const found = await findJournal(path, options, plan);
  const replaces = options.replace && !found?.isComplete;
  const work = replaces ? partsOf(plan) : plan;
  if (found) {
    refuseOtherRun(found.identity, identity, plan.out);
    if (found.checkpoint) await refuseChanged(work.out, found.checkpoint.out);
    const errors = errorsFileOf(work);
    // A run notes its errors file in the journal before it creates it: one that is not noted is another run's.
    if (found.checkpoint?.errors === undefined) await refuseExistingErrors(work);
    if (found.checkpoint?.errors && errors !== undefined) await refuseChanged(errors, found.checkpoint.errors);
  }
  const run = found?.run ?? randomUUID();
  return {
    run,
    from: found?.checkpoint ?? untouched,
    parked: found?.parked ?? new Map(),
    work,
    async begin() {
      if (found) return continueJournal(path, found);
      await removeParts(plan);
      return createJournal(path, run, identity);
    },
    ...(replaces && { publish }),
  };

  async function publish(journal: Journal, saved: Checkpoint): Promise<void> {
    if (keepsOld(saved)) return removeParts(plan);
    await journal.complete();
    await swapIn(plan.out, identity[errorsFileKey], saved.failed);
  }
}

/** The journal to resume from; absent for a run from the beginning. */
async function findJournal(path: string, options: RunOptions, plan: OutputPlan): Promise<FoundJournal | undefined> {
  if (options.resume && options.force) {
    throw new AutomateError('usage', '--resume continues an output, --force overwrites it: expected one of them');
  }
  if (options.replace && options.force) {
    throw new AutomateError('usage', '--replace keeps the old output until the end, --force deletes it now: expected one of them');
  }
  // With --force an existing journal is replaced when the run begins, not before.
  if (options.force) return undefined;
  const found = await readUnfinished(path, options, plan);
  if (found && !options.resume) {
    // Its files are no output yet: the next run of the same line begins anew.
    if (options.replace && isReplacing(found.identity)) return undefined;
    throw unfinishedRun(found, plan.out, path);
  }
  if (!found && options.resume && isRegularFile(plan.out)) {
    throw new AutomateError('output-exists', `${plan.out} exists, and has no journal of an unfinished run: there is nothing to resume`);
  }
  if (!found && !options.replace) await refuseExistingFiles(plan);
  return found;
}

/** The journal of an unfinished run. If only the end of its replacing was cut off, that is made up for. */
async function readUnfinished(path: string, { resume }: RunOptions, { out }: OutputPlan): Promise<FoundJournal | undefined> {
  const found = await readJournal(path);
  if (!found?.isComplete) return found;
  await swapIn(out, found.identity[errorsFileKey], found.checkpoint?.failed ?? 0);
  if (resume) return found;
  await rm(path);
  return undefined;
}

function unfinishedRun({ checkpoint, parked }: FoundJournal, out: string, path: string): AutomateError {
  const done = checkpoint?.records ?? 0;
  const waiting = [...parked.keys()].filter((number) => number > done).length;
  const records = `${done === 0 ? 'no record' : counted(done, 'record')} ${done > 1 ? 'are' : 'is'} done`;
  const finished = waiting === 0 ? '' : `, and ${count(waiting)} more finished after one that is not`;
  return new AutomateError(
    'output-exists',
    `an earlier run did not finish ${out}: ${records}${finished} (journal: ${path})\nresume it: the same command line and --resume\nstart over: the same command line and --force`,
  );
}
