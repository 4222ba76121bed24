import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import type { OutputRole } from '../core/error-code.ts';
import { AutomateError, errorOf } from '../core/failure.ts';
import type { RunOptions } from '../core/run-options.ts';
import type { OutputSpace } from '../files/folder.ts';
import { type Lock, takeLock } from '../files/lock.ts';
import { namingErrors, refuseUnwritable } from '../files/naming-errors.ts';
import type { SavedLog } from '../files/saved-names.ts';
import { fullPath, realFile, shownPath } from '../files/stat.ts';
import { refuseMissing } from '../records/input.ts';
import { inputPaths } from '../records/inputs.ts';
import type { FailedList, ListOfRun } from './journal/failed-list.ts';
import {
  type Checkpoint,
  continueJournal,
  createJournal,
  type FoundJournal,
  type Journal,
  journalPath,
  marksOf,
} from './journal/journal.ts';
import { refuseNoFile } from './journal/lines.ts';
import { type EndedOutput, untouched } from './output.ts';
import { outputNames, ownerOfErrors, refusePlaces } from './output-places.ts';
import { canResume, isFileOrFree, type OutputPlan, refuseExistingErrors, refuseExistingFiles } from './output-plan.ts';
import { finishRun, partPlan, removeOldErrors, removeParts, removeTruth, truthPart, unfinishedPlan } from './replace.ts';
import { type FlowInFile, type Identity, identityOf, refuseOtherRun } from './run-identity.ts';
import { isRegularFile, refuseChanged } from './sink.ts';
import { type CompleteRun, TruthLog, truthName, truthPath } from './truth-file.ts';
import { completeRunOf, findCompleteRun, findJournal, type RetryClaim } from './unfinished-run.ts';
import { type ClaimedMemory, claimMemory } from './update/claimed-memory.ts';

interface ClaimingFlow extends FlowInFile {
  readonly run: string;
}

/** The right to write a run's output files, and the checkpoint from which the run continues. */
export interface Claim {
  /** For example a UUID. A resumed run keeps its id. */
  readonly run: string;
  readonly from: Checkpoint;
  /** Rows that an earlier part of the run finished while a record before them was unfinished. */
  readonly parked: FoundJournal['parked'];
  /** The files that the run's records save. Undefined for a run that cannot be resumed. */
  readonly saved?: SavedLog;
  /** The planned files, or part files that are moved to the planned paths at the end. */
  readonly work: OutputPlan;
  /** Undefined for a stream, which cannot be truncated and so cannot be resumed. `space` is undefined if disk space is not limited. */
  begin(space: OutputSpace | undefined): Promise<Journal | undefined>;
  /** An earlier command has completed the run and moved its files into place. */
  readonly isComplete: boolean;
  /** The earlier run that has already written the whole output. */
  readonly earlier?: CompleteRun;
  /** Completes the journal, moves a complete run's files into place, and removes the journal. Undefined for a stream. */
  publish?(journal: Journal, ended: EndedOutput, list: ListOfRun | undefined): Promise<void>;
  /** True if a run that replaces its output leaves the old one, because records failed and none was written. */
  keepsOld(saved: Pick<Checkpoint, 'written' | 'failed'>): boolean;
  /** Moves the output files of a run without a journal into place. Undefined for a stream. */
  settle?(isComplete: boolean, saved: Checkpoint): Promise<void>;
  /** Removes the files of a run that has written nothing. Undefined for a stream, and for a resumed run. */
  undo?(): Promise<void>;
  /** The rows that a later run with `update` can reuse. */
  readonly memory?: ClaimedMemory;
  /** Releases the locks that keep other runs from writing the same output. */
  release(): void;
}

/**
 * Throws an AutomateError if another run is writing the files, if an earlier run did not finish and neither `resume` nor `force` is set, or
 * if the journal to `resume` belongs to another run.
 */
export async function claimOutput(flow: ClaimingFlow, options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<Claim> {
  // A retry replaces the errors file that it reads, but it must not overwrite the input of the run that it retries.
  refuseMixedFiles(flow, retry ? { ...options, ...inputsOf(retry.list) } : options, plan);
  if (!retry) refuseNoInput(options);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = errorsFileOf(plan);
  const release = namingOption(options, () => takeLocks({ out, errors, gone: plan.gone && realFile(plan.gone.out) }));
  try {
    if (errors !== undefined) await refuseOthers(errors, out);
    return { ...(await claimPlaces(flow, options, plan, retry)), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Throws if `claimOutput` would throw because of existing files. Writes nothing, not even locks. */
export async function refuseOutput(flow: FlowInFile, options: RunOptions, plan: OutputPlan): Promise<void> {
  refuseMixedFiles(flow, options, plan);
  refuseNoInput(options);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = errorsFileOf(plan);
  if (errors !== undefined) await refuseOthers(errors, out);
  await (out === undefined || !canResume(plan) ? claimStream(options, plan) : findJournal(options, plan));
  for (const file of [plan.out, plan.errors, plan.gone?.out, options.events])
    if (file !== undefined && file !== '-') refuseUnwritable(file);
}

function refuseNoInput(options: RunOptions): void {
  for (const path of inputPaths(options)) if (path !== '-') refuseMissing(path);
}

/** `-` for stdin, and for an errors file that an earlier retry read. */
function inputsOf({ identity }: FailedList): Pick<RunOptions, 'in' | 'moreIn'> {
  const [input = 'stdin', ...moreIn] = identity.inputs.map(({ path }) => path);
  return { in: input === 'stdin' || input === identity.errorsFile ? '-' : input, moreIn };
}

/** Throws if two paths lead to the same file, or if two outputs go to stdout. */
function refuseMixedFiles(flow: FlowInFile, options: RunOptions, plan: OutputPlan): void {
  refusePlaces(flow, options, plan);
  refuseSharedStdout({ out: plan.out, errors: plan.errors, events: options.events, summary: options.summary });
}

/** Undefined if there is none, or if the path leads to a stream or device. */
function errorsFileOf({ errors }: OutputPlan): string | undefined {
  return errors !== undefined && isFileOrFree(errors) ? realFile(errors) : undefined;
}

/** Throws for the errors file of a different output. Not even `force` allows overwriting it. */
async function refuseOthers(errors: string, out: string | undefined): Promise<void> {
  const owner = await ownerOfErrors(fullPath(errors), out && fullPath(out));
  if (owner === undefined) return;
  const facts = { code: 'place-refused', details: { of: 'errors' } } as const;
  throw new AutomateError('output-exists', `${errors} is already the errors file of ${shownPath(owner)}`, facts);
}

/** The reader of stdout could not separate several outputs. */
function refuseSharedStdout(paths: { readonly [Role in OutputRole]?: string | undefined }): void {
  const of = (Object.keys(paths) as OutputRole[]).filter((role) => paths[role] === '-');
  if (of.length < 2) return;
  const names = of.map((role) => outputNames[role]);
  const all = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  throw new AutomateError('usage', `${all} write to stdout; only one of them can`, { code: 'shared-stdout', details: { of } });
}

/** If the output is stdout, the errors file is in the working folder, although the user has not named a file there. */
function namingOption({ out = '-', errors }: RunOptions, take: () => () => void): () => void {
  try {
    return take();
  } catch (error) {
    if (out !== '-' || errors !== undefined || !(error instanceof AutomateError) || error.kind !== 'output') throw error;
    throw errorOf('output', { message: error.message, code: 'place-refused', details: { of: 'errors' } }, error);
  }
}

/** If another run holds a lock, takes none and throws. Returns a function that releases all. */
function takeLocks(paths: Readonly<Record<'out' | 'errors' | 'gone', string | undefined>>): () => void {
  const locks: Lock[] = [];
  const release = () => {
    for (const lock of locks) lock.release();
  };
  try {
    for (const of of ['out', 'errors', 'gone'] as const) if (paths[of] !== undefined) locks.push(takeLock(paths[of], of));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

function claimPlaces(flow: ClaimingFlow, options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<Omit<Claim, 'release'>> {
  if (canResume(plan)) return claimFile(flow, options, plan, retry);
  return plan.isStreamed ? claimStream(options, plan) : claimWhole(options, plan);
}

/** Writes part files, which are moved to the final paths at the end. */
async function claimWhole(options: RunOptions, plan: OutputPlan): Promise<Omit<Claim, 'release'>> {
  const { replace = false } = options;
  const stream = await claimStream(options, plan);
  const keepsOld = keepingOld(plan);
  const parts = partPlan(plan);
  await removeParts(plan);
  return {
    ...stream,
    keepsOld,
    work: replace ? parts : { ...plan, out: parts.out },
    async settle(isComplete, saved) {
      const { failed } = saved;
      if (!replace) return finishRun(plan.out, { identity: { errorsFile: 'none' }, hasTruth: false, failed });
      const errors = errorsFileOf(plan);
      const identity = { errorsFile: errors === undefined ? 'none' : fullPath(errors) };
      if (isComplete && !keepsOld(saved)) return finishRun(plan.out, { identity, hasTruth: false, failed });
      if (!isComplete && saved.written + failed > 0) await keepUnfinished(plan, failed > 0 && errors !== undefined);
      return removeParts(plan);
    },
  };
}

/** Renames the part files of a run that cannot be resumed. They are not deleted, because their rows exist nowhere else. */
async function keepUnfinished(plan: OutputPlan, hasErrors: boolean): Promise<void> {
  const [parts, kept] = [partPlan(plan), unfinishedPlan(plan)];
  await namingErrors(kept.out, 'written', () => rename(parts.out, kept.out));
  const { errors } = kept;
  if (hasErrors && errors !== undefined) await namingErrors(errors, 'written', () => rename(parts.errors ?? '', errors));
}

/** Such a run must not replace an output that was there before it. */
function keepingOld({ out }: OutputPlan): Claim['keepsOld'] {
  const hasOld = isRegularFile(out);
  return ({ written, failed }) => hasOld && written === 0 && failed > 0;
}

async function claimStream(options: RunOptions, plan: OutputPlan): Promise<Omit<Claim, 'release'>> {
  // A stream cannot be replaced, but the errors file next to it can. It is deleted when the run begins, because its records belong to an
  // earlier run.
  if (!options.force && !options.replace) await refuseExistingFiles(plan);
  return {
    run: randomUUID(),
    from: untouched,
    parked: new Map(),
    work: plan,
    isComplete: false,
    keepsOld: () => false,
    begin: async () => undefined,
  };
}

async function claimFile(flow: ClaimingFlow, options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<Omit<Claim, 'release'>> {
  const path = journalPath(realFile(plan.out));
  refuseNoFile(truthPath(realFile(plan.out)), truthName);
  const identity = { ...(await identityOf(flow, options, plan)), retryOf: retry?.list.run };
  const found = await findJournal(options, plan, retry);
  const earlier = found ? undefined : await findCompleteRun({ identity, options, plan, retry });
  const isComplete = found?.end !== undefined;
  const replaces = (options.replace ?? false) && !isComplete;
  const work = replaces ? partPlan(plan) : plan;
  if (found) await refuseOtherFiles(found, identity, plan, work);
  const memory = isComplete ? undefined : await claimMemory(flow.plan, { options, plan, found, retry });
  const run = found?.run ?? flow.run;
  let journal: Journal | undefined;
  const keepsOld = keepingOld(plan);
  return {
    run,
    keepsOld,
    from: found?.checkpoint ?? untouched,
    parked: found?.parked ?? new Map(),
    saved: { earlier: found?.saved ?? [], add: async (name) => journal?.noteSaved(name) },
    work,
    isComplete,
    earlier,
    memory,
    async begin(space) {
      if (found) {
        journal = isComplete ? undefined : await continueJournal(path, found, space);
        return journal;
      }
      await removeParts(plan);
      journal = await createJournal(path, run, identity, space);
      if (replaces) return journal;
      await removeOldErrors(plan.out, identity);
      await removeTruth(plan.out);
      return journal;
    },
    ...(!found && (replaces || !retry) && { undo: () => removeBegun(path, plan, work) }),
    async publish(journal, ended, facts) {
      if (replaces && !retry && keepsOld(ended.saved)) {
        await journal.close();
        await rm(path);
        await ended.memory?.close();
        return removeParts(plan);
      }
      await memory?.gone?.write();
      const list = facts && { run, identity, ...facts };
      const note = await completeRunOf({ run, identity, options, plan, retry }, ended);
      const remembered = ended.memory && (await memory?.finish(ended.memory, ended));
      const hasTruth = (list ?? note ?? remembered) !== undefined;
      const truth = remembered?.log ?? (hasTruth ? await TruthLog.create(truthPart(plan.out)) : undefined);
      await truth?.finish({ list, note, memory: remembered?.facts }, marksOf(path));
      await journal.complete({ hasTruth });
      return finishRun(plan.out, { identity, hasTruth, failed: ended.saved.failed });
    },
  };
}

async function removeBegun(journal: string, plan: OutputPlan, work: OutputPlan): Promise<void> {
  if (work === plan) await rm(realFile(plan.out), { force: true });
  else await removeParts(plan);
  await rm(journal, { force: true });
}

/** Throws if the journal belongs to another run, or if the output files have changed since the journal was written. */
async function refuseOtherFiles({ identity, checkpoint }: FoundJournal, now: Identity, plan: OutputPlan, work: OutputPlan): Promise<void> {
  refuseOtherRun(identity, now, plan.out);
  if (checkpoint) await refuseChanged(work.out, checkpoint.out);
  const errors = errorsFileOf(work);
  // A run writes the name of its errors file to the journal before it creates the file. An errors file that exists but is not in the
  // journal therefore belongs to another run.
  if (checkpoint?.errors === undefined) await refuseExistingErrors(work);
  if (checkpoint?.errors && errors !== undefined) await refuseChanged(errors, checkpoint.errors);
}
