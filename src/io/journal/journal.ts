import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { syncFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import type { Written } from '../output/sink.ts';
import type { CompleteRun } from './complete-run.ts';
import type { FailedList, Mark } from './failed-list.ts';
import type { Identity } from './identity.ts';
import { lineOf, linesOf, parseLine, refuseNoFile } from './lines.ts';
import { type ParkedLine, ParkedReader, type ParkedRecords, parkedLines, type RenderedRows } from './parked-records.ts';

/** The state of a run on disk. Everything up to it is complete; everything after it is cut off and done again. */
export interface Checkpoint {
  /** Every record up to this number is finished. */
  readonly records: number;
  /** Finished ranges after an unfinished record: with --unordered, records are written as they finish. */
  readonly beyond: readonly (readonly [number, number])[];
  /** The place at which the input resumes: bytes and lines before it. */
  readonly offset: number;
  readonly line: number;
  /** The 0-based index of the input that has this place; absent for a single input. */
  readonly file?: number;
  readonly out: Written;
  /** Absent until a record fails. */
  readonly errors?: Written;
  readonly written: number;
  readonly failed: number;
  /** Records without a row in a flow with a filter; absent for none. */
  readonly filtered?: number;
  readonly rows: number;
  readonly credits: number;
  /** The money that nodes with a price have spent, by node; absent if no node has a price. */
  readonly costs?: Readonly<Record<string, number>>;
  /** The tokens of models that nodes have used, by node; absent if no node has asked a model. */
  readonly tokens?: Readonly<Record<string, { readonly input: number; readonly output: number }>>;
  /** Counts of the server that runs it; absent for a command. */
  readonly notes?: object;
  /** A retry: the part of the earlier output that is copied, in bytes of text. */
  readonly copied?: number;
  /** Records in the memory of the output; absent for a run without one. */
  readonly remembered?: number;
}

/** The files that a complete run leaves beside its output. */
export interface JournalEnd {
  /** The list of failed records; absent if no record failed, or if the failed records are in no file. */
  readonly list?: FailedList | undefined;
  /** The note by which the same command line finds that nothing is left to do; absent for runs without one. */
  readonly note?: CompleteRun | undefined;
  /** True if the memory of the output is beside it; absent for runs without one. */
  readonly remembers?: boolean | undefined;
}

/** The journal of an earlier run. */
export interface FoundJournal {
  /** The run's UUID, the source of its idempotency keys. */
  readonly run: string;
  readonly identity: Identity;
  /** The last complete checkpoint; absent if the run reached no checkpoint. */
  readonly checkpoint: Checkpoint | undefined;
  readonly parked: ParkedRecords<RenderedRows>;
  /** True if all records are done, and its files only need to be put in place. */
  readonly isComplete: boolean;
  /** The files that a complete run leaves beside its output; empty for other runs. */
  readonly end: JournalEnd;
  /** The length of the file without a line that a crash cut off. */
  readonly validBytes: number;
}

/** The file with the checkpoints of a run. It exists until the run is complete. */
export interface Journal {
  /** Adds a checkpoint, with the records that have failed since the last checkpoint, and waits until it is on disk. Throws an AutomateError (`output`). */
  add(checkpoint: Checkpoint, marks?: readonly Mark[]): Promise<void>;
  /** Adds parked records. Throws an AutomateError (`output`). */
  park(records: ParkedRecords): Promise<void>;
  /** Notes that all records are done, and closes the file. Throws an AutomateError (`output`). */
  complete(end: JournalEnd): Promise<void>;
  close(): Promise<void>;
}

/** The path of the journal, next to the output. */
export function journalPath(out: string): string {
  return `${out}.automate-run`;
}

/** Creates a journal with its first line, the run's identity. It appears at its path complete or not at all. */
export async function createJournal(path: string, run: string, identity: Identity): Promise<Journal> {
  return namingErrors(path, 'written', async () => {
    const draft = `${path}.new`;
    await rm(draft, { force: true });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await appendLine(handle, { run, identity });
      await rename(draft, path);
      await syncFolder(path);
      return toJournal(path, handle);
    } catch (error) {
      await handle.close();
      await rm(draft, { force: true });
      throw error;
    }
  });
}

/** Continues a journal. Cuts off a line that a crash left incomplete. */
export async function continueJournal(path: string, found: FoundJournal): Promise<Journal> {
  return namingErrors(path, 'written', async () => {
    const handle = await open(path, 'r+');
    await handle.truncate(found.validBytes);
    await handle.close();
    return toJournal(path, await open(path, 'a'));
  });
}

/** Reads a journal; absent if there is no journal. Throws an AutomateError if its first line is damaged. */
export async function readJournal(path: string): Promise<FoundJournal | undefined> {
  refuseNoFile(path, 'a journal');
  let first: Pick<FoundJournal, 'run' | 'identity'> | undefined;
  let checkpoint: Checkpoint | undefined;
  const parked = new ParkedReader(path, parkedText);
  let end: EndLine | undefined;
  let validBytes = 0;
  try {
    for await (const bytes of linesOf(path)) {
      const line = parseLine(bytes.toString());
      if (line === undefined) break;
      if (!first) first = line as Pick<FoundJournal, 'run' | 'identity'>;
      else if (Object.hasOwn(line as object, 'complete')) end = line as EndLine;
      else if (isParkedLine(line)) parked.add(line, { at: validBytes, bytes: bytes.length });
      else checkpoint = withoutMarks(line as CheckpointLine);
      validBytes += bytes.length + 1;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileError(path, 'written', error);
  }
  if (!first)
    throw new AutomateError('output-exists', `${path} is damaged at its beginning: there is nothing to resume from`, {
      code: 'journal-damaged',
      details: {},
    });
  return {
    ...first,
    checkpoint,
    parked: parked.records,
    isComplete: end !== undefined,
    end: { list: end?.list, note: end?.note, remembers: end?.remembers },
    validBytes,
  };
}

/** The identity in the first line of a journal; absent if the line cannot be read. */
export async function readIdentity(path: string): Promise<Identity | undefined> {
  try {
    for await (const bytes of linesOf(path)) return (parseLine(bytes.toString()) as Pick<FoundJournal, 'identity'> | undefined)?.identity;
  } catch {
    // A journal that the user may not read belongs to another user.
  }
  return undefined;
}

type EndLine = JournalEnd & { readonly complete: true };

type CheckpointLine = Checkpoint & { readonly marks?: readonly Mark[] };

/** The checkpoint in a line, without the marks of failed records: they are not part of the state with which the run continues. */
function withoutMarks({ marks: _, ...checkpoint }: CheckpointLine): Checkpoint {
  return checkpoint;
}

/** The failed records of a run, from the lines of its journal. */
export async function* marksOf(path: string): AsyncGenerator<readonly Mark[]> {
  for await (const bytes of linesOf(path)) {
    const line = parseLine(bytes.toString()) as Partial<CheckpointLine> | undefined;
    if (line?.marks) yield line.marks;
  }
}

function isParkedLine(line: unknown): line is ParkedLine {
  return ['text', 'kept'].some((name) => Object.hasOwn(line as object, name));
}

/** The text in a line that was complete when the journal was read. */
function parkedText(written: string): string {
  const line = parseLine(written) as { text: [number, number, string] } | undefined;
  if (line === undefined) throw new AutomateError('output', 'the journal was changed during the run');
  return line.text[2];
}

function toJournal(path: string, handle: FileHandle): Journal {
  return {
    add: (checkpoint, marks = []) =>
      namingErrors(path, 'written', () => appendLine(handle, marks.length === 0 ? checkpoint : { ...checkpoint, marks })),
    park: (records) => namingErrors(path, 'written', () => appendParked(handle, records)),
    complete: (end) =>
      namingErrors(path, 'written', async () => {
        await appendLine(handle, { complete: true, ...end } satisfies EndLine);
        await handle.close();
      }),
    close: () => namingErrors(path, 'written', () => handle.close()),
  };
}

async function appendLine(handle: FileHandle, value: unknown): Promise<void> {
  await handle.appendFile(lineOf(value));
  await handle.datasync();
}

async function appendParked(handle: FileHandle, records: ParkedRecords): Promise<void> {
  for await (const line of parkedLines(records)) await handle.appendFile(lineOf(line));
  await handle.datasync();
}
