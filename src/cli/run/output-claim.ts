import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { fingerprint } from '../../io/files/fingerprint.ts';
import { type Lock, takeLock } from '../../io/files/lock.ts';
import { realFile } from '../../io/files/stat.ts';
import {
  type Checkpoint,
  continueJournal,
  createJournal,
  type FoundJournal,
  type Identity,
  type Journal,
  journalPath,
  readJournal,
} from '../../io/journal/journal.ts';
import { untouched } from '../../io/output/output.ts';
import { isRegularFile, refuseChanged } from '../../io/output/sink.ts';
import { readError, refuseMissing } from '../../io/records/readers/input.ts';
import { envOf } from '../env.ts';
import { count, counted } from '../show/number.ts';
import { version } from '../version.ts';
import { isFileOrFree, type OutputPlan, refuseExistingErrors, refuseExistingFiles, refuseSameFiles } from './output-files.ts';
import type { RunOptions } from './run-options.ts';

/** A flow and where it was read. */
export interface FlowInFile {
  readonly file: string;
  readonly plan: Plan;
}

/** The right to write a run's output, and where that run begins. */
export interface Claim {
  /** The run's UUID: of a resumed run, the one it began with. */
  readonly run: string;
  readonly from: Checkpoint;
  /** What had come to its end behind that. */
  readonly kept: FoundJournal['kept'];
  /** Begins the journal, or goes on with it; absent for a stream, in which nothing could be cut off. */
  begin(): Promise<Journal | undefined>;
  /** Lets others have the output. */
  release(): void;
}

/**
 * Claims the output of a run. Throws an AutomateError when another run is writing it, when an earlier one did not end
 * and nothing was said about it, or when what is to be resumed is not the same run.
 */
export async function claimOutput(flow: FlowInFile, options: RunOptions, plan: OutputPlan): Promise<Claim> {
  refuseSameFiles([
    { what: 'the input', path: options.in },
    { what: 'the flow', path: flow.file },
    { what: 'the output', path: plan.out, option: '--out' },
    { what: 'the errors file', path: plan.errors, option: '--errors' },
    { what: 'the events file', path: options.events, option: '--events' },
    { what: 'the summary', path: options.summary, option: '--summary' },
  ]);
  refuseTwiceStdout({ '--out': plan.out, '--errors': plan.errors, '--events': options.events, '--summary': options.summary });
  // Told before the errors file beside it, whose folder is not there either.
  if (options.in !== '-') refuseMissing(options.in);
  const out = plan.isStreamed ? undefined : realFile(plan.out);
  const errors = isFileOrFree(plan.errors) ? realFile(plan.errors) : undefined;
  const release = takeLocks([
    ...(out === undefined ? [] : [{ path: out, option: '--out' }]),
    ...(errors === undefined ? [] : [{ path: errors, option: '--errors' }]),
  ]);
  try {
    return { ...(await (out === undefined ? claimStream(options, plan) : claimFile(flow, options, plan, journalPath(out)))), release };
  } catch (error) {
    release();
    throw error;
  }
}

async function claimFile(flow: FlowInFile, options: RunOptions, plan: OutputPlan, path: string): Promise<Omit<Claim, 'release'>> {
  const identity = await identityOf(flow, options, plan);
  const found = await foundJournal(path, options, plan);
  if (found) {
    refuseOther(found.identity, identity, plan.out);
    if (found.checkpoint) await refuseChanged(plan.out, found.checkpoint.out);
    if (found.checkpoint?.errors && isFileOrFree(plan.errors)) await refuseChanged(plan.errors, found.checkpoint.errors);
  }
  const run = found?.run ?? randomUUID();
  return {
    run,
    from: found?.checkpoint ?? untouched,
    kept: found?.kept ?? new Map(),
    begin: () => (found ? continueJournal(path, found) : createJournal(path, run, identity)),
  };
}

/** Takes all of the locks or none; answers how to give them back. */
function takeLocks(files: readonly { path: string; option: string }[]): () => void {
  const locks: Lock[] = [];
  const release = () => {
    for (const lock of locks) lock.release();
  };
  try {
    for (const { path, option } of files) locks.push(takeLock(path, option));
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/** Two things on one stream could not be told apart. */
function refuseTwiceStdout(paths: Readonly<Record<string, string | undefined>>): void {
  const onStdout = Object.keys(paths).filter((option) => paths[option] === '-');
  if (onStdout.length > 1) throw new AutomateError('usage', `${onStdout.join(' and ')} go to stdout; expected one of them there`);
}

async function claimStream(options: RunOptions, plan: OutputPlan): Promise<Omit<Claim, 'release'>> {
  if (options.resume)
    throw new AutomateError('usage', '--resume needs an output file: in a stream nothing can be gone on with\nname one with --out');
  if (!options.force) await refuseExistingFiles(plan);
  return { run: randomUUID(), from: untouched, kept: new Map(), begin: async () => undefined };
}

/** The journal to go on with; absent for a run from the beginning. */
async function foundJournal(path: string, options: RunOptions, plan: OutputPlan): Promise<FoundJournal | undefined> {
  if (options.resume && options.force)
    throw new AutomateError('usage', '--resume goes on with an output, --force overwrites it: expected one of them');
  // A journal that is there is replaced when the run begins, not before.
  if (options.force) return undefined;
  const found = await readJournal(path);
  if (found && !options.resume) throw unfinished(found, plan.out, path);
  if (!found && options.resume && isRegularFile(plan.out)) {
    throw new AutomateError('output-exists', `${plan.out} exists, and no journal says that it is unfinished: there is nothing to resume`);
  }
  if (!found) await refuseExistingFiles(plan);
  // A run tells its journal before it makes an errors file: this one is another's.
  else if (found.checkpoint?.errors === undefined) await refuseExistingErrors(plan);
  return found;
}

function unfinished({ checkpoint, kept }: FoundJournal, out: string, path: string): AutomateError {
  const done = checkpoint?.records ?? 0;
  const waiting = [...kept.keys()].filter((number) => number > done).length;
  const behind = waiting === 0 ? '' : ` and written, ${count(waiting)} more behind one that is not`;
  const records = `${done === 0 ? 'no record' : counted(done, 'record')} ${done > 1 ? 'are' : 'is'} done${behind}`;
  return new AutomateError(
    'output-exists',
    `an earlier run did not finish ${out}: ${records}, as ${path} says\ngo on with it: the same command line and --resume\nstart over: the same command line and --force`,
  );
}

/** Everything that the bytes of the output depend on. */
async function identityOf({ file, plan: { savedConnections } }: FlowInFile, options: RunOptions, plan: OutputPlan): Promise<Identity> {
  const { skip, limit, unordered, inFormat, delimiter, encoding, csvSafe } = options;
  return {
    'the version of automate': version,
    'the flow': hashOf(await readFile(file)),
    ...(savedConnections.size > 0 ? { 'the saved connection': hashOf(JSON.stringify([...savedConnections])) } : {}),
    'the environment of its credentials': envOf(options.env),
    ...(await fingerprintOf(options.in)),
    'the way the input is read': JSON.stringify({ skip, limit, inFormat, delimiter, encoding }),
    'the way the output is written': JSON.stringify({
      unordered,
      csvSafe,
      format: plan.format,
      errors: plan.errors === '-' ? '-' : resolve(plan.errors),
      errorsFormat: plan.errorsFormat,
    }),
  };
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

async function fingerprintOf(input: string): Promise<Identity> {
  return fingerprint(input).catch((error: unknown) => {
    throw readError(input, error);
  });
}

/** A hash tells nobody anything, and of several options those that are as they were are nothing to tell. */
function changeTexts(what: string, before: string, now: string): string[] {
  if (/^[0-9a-f]{16}$/.test(now)) return [`${what} has changed`];
  if (!before.startsWith('{') || !now.startsWith('{')) return [`${what} was ${before}, is ${now}`];
  const [old = {}, present = {}] = [before, now].map((text) => JSON.parse(text) as Record<string, unknown>);
  const changed = changedIn(old, present);
  return changed.map((name) => `${what}: ${name} was ${shownOption(old[name])}, is ${shownOption(present[name])}`);
}

function shownOption(value: unknown): string {
  return value === undefined ? 'not said' : JSON.stringify(value);
}

function changedIn(before: Readonly<Record<string, unknown>>, now: Readonly<Record<string, unknown>>): string[] {
  return Object.keys({ ...before, ...now }).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
}

function refuseOther(before: Identity, now: Identity, out: string): void {
  const changed = changedIn(before, now);
  if (changed.length === 0) return;
  const lines = changed.flatMap((what) => changeTexts(what, before[what] ?? 'nothing', now[what] ?? 'nothing'));
  throw new AutomateError(
    'output-exists',
    `${out} cannot be resumed, because this is not the run that began it:\n${lines.join('\n')}\nbring back what it was, or start over with --force`,
  );
}
