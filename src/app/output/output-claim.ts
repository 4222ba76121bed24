import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import type { OutputRole } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { type Lock, takeLock } from '../../io/files/lock.ts';
import { namingErrors, refuseUnwritable } from '../../io/files/naming-errors.ts';
import { fullPath, realFile, shownPath } from '../../io/files/stat.ts';
import type { CompleteRun } from '../../io/journal/complete-run.ts';
import { type FailedList, failedListPath, type ListOfRun } from '../../io/journal/failed-list.ts';
import { errorsFileKey, type Identity } from '../../io/journal/identity.ts';
import { type Checkpoint, continueJournal, createJournal, type FoundJournal, type Journal, journalPath } from '../../io/journal/journal.ts';
import { ownerOfErrors } from '../../io/journal/owner-of-errors.ts';
import { type EndedOutput, untouched } from '../../io/output/output.ts';
import { refuseChanged } from '../../io/output/sink.ts';
import { refuseMissing } from '../../io/records/readers/input.ts';
import { inputPaths } from '../input/input.ts';
import type { RunOptions } from '../run-options.ts';
import { type ClaimedMemory, claimMemory } from '../update/claimed-memory.ts';
import { completeRunOf, findCompleteRun } from './completed-run.ts';
import { outputNames, refusePlaces } from './output-places.ts';
import { canResume, isFileOrFree, type OutputPlan, refuseExistingErrors, refuseExistingFiles } from './output-plan.ts';
import { finishRun, keepsOld, partPlan, removeMemory, removeNote, removeOldErrors, removeParts, unfinishedPlan } from './replace.ts';
import { type FlowInFile, identityOf, identityOfRetry, inputsIn, refuseOtherRun } from './run-identity.ts';
import { findJournal, type RetryClaim } from './unfinished-run.ts';

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
  /** True if an earlier call has completed the run: its files are in their places. */
  readonly isComplete: boolean;
  /** The earlier run that has written the whole output, so that nothing is left to do; absent for all others. */
  readonly earlier?: CompleteRun | undefined;
  /** Completes the journal, puts the files of a complete run in place, and removes the journal. Absent for a stream. */
  publish?(journal: Journal, ended: EndedOutput, list: ListOfRun | undefined): Promise<void>;
  /** Puts the files of a run without a journal in their places. Absent for a stream. */
  settle?(isComplete: boolean, saved: Checkpoint): Promise<void>;
  /** Removes what a run leaves that has done nothing. Absent for a stream, and for a run that continues. */
  undo?(): Promise<void>;
  /** The memory of the output; absent for a run without one. */
  readonly memory?: ClaimedMemory | undefined;
  /** Gives the output up. */
  release(): void;
}

/**
 * Claims the output of a run. Throws an AutomateError if another run is writing it, if an earlier run did not finish it and
 * neither `resume` nor `force` is set, or if `resume` finds another run's journal.
 */
export async function claimOutput(flow: FlowInFile, options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<Claim> {
  // The errors file that a retry reads is the one that it replaces. The input of the whole run must stay, too.
  refuseMixedFiles(flow.file, retry ? { ...options, ...inputsOf(retry.list) } : options, plan);
  if (!retry) refuseNoInput(options);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = errorsFileOf(plan);
  const release = takeLocks({ out, errors });
  try {
    if (errors !== undefined) await refuseOthers(errors, out);
    return { ...(await claimPlaces(flow, options, plan, retry)), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Throws the AutomateError that `claimOutput` would throw for the files that exist. Writes nothing, locks included. */
export async function refuseOutput(flow: string, options: RunOptions, plan: OutputPlan): Promise<void> {
  refuseMixedFiles(flow, options, plan);
  refuseNoInput(options);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = errorsFileOf(plan);
  if (errors !== undefined) await refuseOthers(errors, out);
  await (out === undefined || !canResume(plan) ? claimStream(options, plan) : findJournal(journalPath(out), options, plan));
  for (const file of [plan.out, plan.errors, options.events]) if (file !== undefined && file !== '-') refuseUnwritable(file);
}

function refuseNoInput(options: RunOptions): void {
  for (const path of inputPaths(options)) if (path !== '-') refuseMissing(path);
}

/** The inputs of the run that a list belongs to; `-` if it was stdin, or the errors file of an earlier retry. */
function inputsOf({ identity }: FailedList): Pick<RunOptions, 'in' | 'moreIn'> {
  const [input = 'stdin', ...moreIn] = inputsIn(identity);
  return { in: input === 'stdin' || input === identity[errorsFileKey] ? '-' : input, moreIn };
}

/** Refuses one file or stream in two roles. */
function refuseMixedFiles(flow: string, options: RunOptions, plan: OutputPlan): void {
  refusePlaces(flow, options, plan);
  refuseSharedStdout({ out: plan.out, errors: plan.errors, events: options.events, summary: options.summary });
}

/** The errors file; absent if it is not a regular file, nor will be. */
function errorsFileOf({ errors }: OutputPlan): string | undefined {
  return errors !== undefined && isFileOrFree(errors) ? realFile(errors) : undefined;
}

/** Refuses the errors file of another output, also with `force`. */
async function refuseOthers(errors: string, out: string | undefined): Promise<void> {
  const owner = await ownerOfErrors(fullPath(errors), out && fullPath(out));
  if (owner === undefined) return;
  const facts = { code: 'place-refused', details: { of: 'errors' } } as const;
  throw new AutomateError('output-exists', `${errors} is the errors file of ${shownPath(owner)}`, facts);
}

/** Refuses several outputs on stdout: no reader could separate them. */
function refuseSharedStdout(paths: { readonly [Role in OutputRole]?: string | undefined }): void {
  const of = (Object.keys(paths) as OutputRole[]).filter((role) => paths[role] === '-');
  if (of.length < 2) return;
  const names = of.map((role) => outputNames[role]);
  const all = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  throw new AutomateError('usage', `${all} write to stdout; only one of them can`, { code: 'shared-stdout', details: { of } });
}

/** Takes all of the locks or none. Returns what releases them. */
function takeLocks(paths: { readonly out: string | undefined; readonly errors: string | undefined }): () => void {
  const locks: Lock[] = [];
  const release = () => {
    for (const lock of locks) lock.release();
  };
  try {
    for (const of of ['out', 'errors'] as const) if (paths[of] !== undefined) locks.push(takeLock(paths[of], of));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

function claimPlaces(flow: FlowInFile, options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<Omit<Claim, 'release'>> {
  if (canResume(plan)) return claimFile(flow, options, plan, retry);
  return plan.isStreamed ? claimStream(options, plan) : claimWhole(options, plan);
}

/** The claim of a file that is written beside its place, and put there in the end. */
async function claimWhole(options: RunOptions, plan: OutputPlan): Promise<Omit<Claim, 'release'>> {
  const { replace = false } = options;
  const stream = await claimStream(options, plan);
  const parts = partPlan(plan);
  await removeParts(plan);
  return {
    ...stream,
    work: replace ? parts : { ...plan, out: parts.out },
    async settle(isComplete, saved) {
      const { failed } = saved;
      if (!replace) return finishRun(plan.out, { identity: {}, list: undefined, failed });
      const errors = errorsFileOf(plan);
      const identity = errors === undefined ? {} : { [errorsFileKey]: fullPath(errors) };
      if (isComplete && !keepsOld(saved)) return finishRun(plan.out, { identity, list: undefined, failed });
      if (!isComplete && saved.written + failed > 0) await keepUnfinished(plan, failed > 0 && errors !== undefined);
      return removeParts(plan);
    },
  };
}

/** The rows of an unfinished run stay beside the old files. Nothing else has them. */
async function keepUnfinished(plan: OutputPlan, hasErrors: boolean): Promise<void> {
  const [parts, kept] = [partPlan(plan), unfinishedPlan(plan)];
  await namingErrors(kept.out, 'written', () => rename(parts.out, kept.out));
  const { errors } = kept;
  if (hasErrors && errors !== undefined) await namingErrors(errors, 'written', () => rename(parts.errors ?? '', errors));
}

async function claimStream(options: RunOptions, plan: OutputPlan): Promise<Omit<Claim, 'release'>> {
  // A stream itself cannot be replaced, but its errors file can: it goes when the run begins, as the earlier rows have gone.
  if (!options.force && !options.replace) await refuseExistingFiles(plan);
  return { run: randomUUID(), from: untouched, parked: new Map(), work: plan, isComplete: false, begin: async () => undefined };
}

async function claimFile(flow: FlowInFile, options: RunOptions, plan: OutputPlan, retry?: RetryClaim): Promise<Omit<Claim, 'release'>> {
  const path = journalPath(realFile(plan.out));
  const identity = { ...(await identityOf(flow, options, plan)), ...(retry && identityOfRetry(retry.list)) };
  const found = await findJournal(path, options, plan, retry);
  const earlier = found ? undefined : await findCompleteRun({ identity, options, plan, retry });
  const replaces = (options.replace ?? false) && !found?.isComplete;
  const work = replaces ? partPlan(plan) : plan;
  if (found) await refuseOtherFiles(found, identity, plan, work);
  const memory = found?.isComplete ? undefined : await claimMemory(flow.plan, { options, plan, found, retry });
  const run = found?.run ?? randomUUID();
  return {
    run,
    from: found?.checkpoint ?? untouched,
    parked: found?.parked ?? new Map(),
    work,
    isComplete: found?.isComplete ?? false,
    earlier,
    memory,
    async begin() {
      if (found) return found.isComplete ? undefined : continueJournal(path, found);
      await removeParts(plan);
      const journal = await createJournal(path, run, identity);
      if (replaces) return journal;
      await removeOldErrors(plan.out, identity);
      await removeNote(plan.out);
      await removeMemory(plan.out);
      await rm(failedListPath(realFile(plan.out)), { force: true });
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
      const list = facts && { run, identity, ...facts };
      const note = await completeRunOf({ run, identity, options, plan, retry }, ended);
      const remembers = ended.memory && (await memory?.finish(ended.memory, ended));
      await journal.complete({ list, note, ...(remembers && { remembers }) });
      return finishRun(plan.out, { identity, list, note, remembers, failed: ended.saved.failed });
    },
  };
}

/** Removes the journal of a run and the files that it has begun. */
async function removeBegun(journal: string, plan: OutputPlan, work: OutputPlan): Promise<void> {
  if (work === plan) await rm(realFile(plan.out), { force: true });
  else await removeParts(plan);
  await rm(journal, { force: true });
}

/** Refuses to resume another run, or to continue files that are not as they were left. */
async function refuseOtherFiles({ identity, checkpoint }: FoundJournal, now: Identity, plan: OutputPlan, work: OutputPlan): Promise<void> {
  refuseOtherRun(identity, now, plan.out);
  if (checkpoint) await refuseChanged(work.out, checkpoint.out);
  const errors = errorsFileOf(work);
  // A run notes its errors file in the journal before it creates it: one that is not noted is another run's.
  if (checkpoint?.errors === undefined) await refuseExistingErrors(work);
  if (checkpoint?.errors && errors !== undefined) await refuseChanged(errors, checkpoint.errors);
}
