import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { type Item, placeOf, type TextPosition } from '../../core/item.ts';
import { type OutputSpace, syncFolder } from '../../files/folder.ts';
import { fileError, namingErrors } from '../../files/naming-errors.ts';
import type { SavedName } from '../../files/saved-names.ts';
import type { Identity } from '../run-identity.ts';
import type { Written } from '../sink.ts';
import type { Mark } from './failed-list.ts';
import { lineOf, linesOf, parseLine, refuseNoFile } from './lines.ts';
import { type ParkedLine, ParkedReader, type ParkedRecords, parkedLines, type RenderedRows } from './parked-records.ts';

/** The progress of a run. A resumed run first deletes everything that was written to the output files after the checkpoint. */
export interface Checkpoint {
  /** Number of records before the first unfinished one. */
  readonly records: number;
  /** Finished records after the first unfinished one. With --unordered, records are written in the order in which they finish. */
  readonly beyond: readonly (readonly [number, number])[];
  /** The position where a resumed run continues to read: `offset` is the number of bytes before it, and `line` the number of lines. */
  readonly offset: number;
  readonly line: number;
  /** The 0-based index of the input file with this position; undefined if there is only one. */
  readonly file?: number;
  readonly out: Written;
  /** Undefined if no record has failed so far. */
  readonly errors?: Written;
  readonly written: number;
  readonly failed: number;
  /** Records that a filter node dropped. */
  readonly filtered?: number;
  /** Written records that have not changed since an earlier run. */
  readonly unchanged?: number;
  readonly rows: number;
  readonly credits: number;
  /** Money spent so far, by node; undefined if no node has a price in money. */
  readonly costs?: Readonly<Record<string, number>>;
  /** Language model tokens used so far, by node. */
  readonly tokens?: Readonly<Record<string, { readonly input: number; readonly output: number; readonly askedAgain?: number }>>;
  /** By node; undefined if no node looks for the next page at a path. */
  readonly nextPaths?: Readonly<Record<string, NextPath>>;
  /** Counts that a server keeps for its runs; undefined on the command line. */
  readonly notes?: object;
  /** Uncompressed bytes of the earlier output that a retry has already copied; undefined if the run is not a retry. */
  readonly copied?: number;
  /** Records in the memory file, with which a later run reuses rows of unchanged records. */
  readonly remembered?: number;
}

/** The path at which a node looks for the next page of a list. `found` tells if any first page had it. */
export interface NextPath {
  readonly path: string;
  readonly found: boolean;
}

/** The intention to move the run's files into place. It is on disk before the first of them is moved. */
export interface JournalEnd {
  /** The run leaves a file with the truth about its output. */
  readonly hasTruth: boolean;
}

export interface FoundJournal {
  /** A UUID, from which the idempotency keys of the run's requests are derived. */
  readonly run: string;
  readonly identity: Identity;
  readonly checkpoint: Checkpoint | undefined;
  readonly parked: ParkedRecords<RenderedRows>;
  readonly saved: readonly SavedName[];
  /** Defined if all records are finished. The run's files then only have to be moved to their final paths. */
  readonly end: JournalEnd | undefined;
  /** Length in bytes up to the end of the last valid line. A crash may have left an incomplete line after it. */
  readonly validBytes: number;
}

/** The checkpoints from which a run can be resumed. Deleted when the run is complete. */
export interface Journal {
  /** `marks` failed since the last checkpoint. Waits until all is on disk. Throws an AutomateError (`output`) if it cannot be written. */
  add(checkpoint: Checkpoint, marks?: readonly Mark[]): Promise<void>;
  /** Waits until finished records that wait for an earlier one are on disk. Throws an AutomateError (`output`) if that fails. */
  park(records: ParkedRecords): Promise<void>;
  /** Notes a file before it is saved. Throws an AutomateError (`output`) if the journal cannot be written. */
  noteSaved(name: SavedName): Promise<void>;
  /** Also closes the journal. Throws an AutomateError (`output`) if it cannot be written. */
  complete(end: JournalEnd): Promise<void>;
  close(): Promise<void>;
}

/** Next to the output file. */
export function journalPath(out: string): string {
  return `${out}.automate-run`;
}

/** The file appears at `path` only after its first line, with everything that the run's output depends on, is on disk. */
export async function createJournal(path: string, run: string, identity: Identity, space?: OutputSpace): Promise<Journal> {
  return namingErrors(path, 'written', async () => {
    const draft = `${path}.new`;
    await rm(draft, { force: true });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await appendLine(handle, { run, identity });
      await rename(draft, path);
      await syncFolder(path);
      return toJournal(path, handle, space);
    } catch (error) {
      await handle.close();
      await rm(draft, { force: true });
      throw error;
    }
  });
}

/** First removes an incomplete line that a crash has left at the end. */
export async function continueJournal(path: string, found: FoundJournal, space?: OutputSpace): Promise<Journal> {
  return namingErrors(path, 'written', async () => {
    const handle = await open(path, 'r+');
    await handle.truncate(found.validBytes);
    await handle.close();
    return toJournal(path, await open(path, 'a'), space);
  });
}

/** Undefined if the file does not exist. Throws an AutomateError (`output-exists`) if the first line is damaged. */
export async function readJournal(path: string): Promise<FoundJournal | undefined> {
  refuseNoFile(path, 'a journal');
  let first: Pick<FoundJournal, 'run' | 'identity'> | undefined;
  let checkpoint: Checkpoint | undefined;
  const parked = new ParkedReader(path, parkedText);
  const saved: SavedName[] = [];
  let end: EndLine | undefined;
  let validBytes = 0;
  try {
    for await (const bytes of linesOf(path)) {
      const line = parseLine(bytes.toString());
      if (line === undefined) break;
      if (!first) first = line as Pick<FoundJournal, 'run' | 'identity'>;
      else if (Object.hasOwn(line as object, 'complete')) end = line as EndLine;
      else if (Object.hasOwn(line as object, 'saved')) saved.push((line as SavedLine).saved);
      else if (isParkedLine(line)) parked.add(line, { at: validBytes, bytes: bytes.length });
      else checkpoint = withoutMarks(line as CheckpointLine);
      validBytes += bytes.length + 1;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileError(path, 'written', error);
  }
  if (!first)
    throw new AutomateError('output-exists', `${path} is damaged at its beginning, so there is nothing to resume from`, {
      code: 'journal-damaged',
      details: {},
    });
  return {
    ...first,
    checkpoint,
    parked: parked.records,
    saved,
    end: end && { hasTruth: end.hasTruth },
    validBytes,
  };
}

/** Read from the first line of a journal. Undefined if that line cannot be read. */
export async function readIdentity(path: string): Promise<Identity | undefined> {
  try {
    for await (const bytes of linesOf(path)) return (parseLine(bytes.toString()) as Pick<FoundJournal, 'identity'> | undefined)?.identity;
  } catch {
    // An unreadable file belongs to another user, so it is ignored.
  }
  return undefined;
}

interface SavedLine {
  readonly saved: SavedName;
}

type EndLine = JournalEnd & { readonly complete: true };

type CheckpointLine = Checkpoint & { readonly marks?: readonly Mark[] };

/** A resumed run does not need the failed records. */
function withoutMarks({ marks: _, ...checkpoint }: CheckpointLine): Checkpoint {
  return checkpoint;
}

export async function* marksOf(path: string): AsyncGenerator<readonly Mark[]> {
  for await (const bytes of linesOf(path)) {
    const line = parseLine(bytes.toString()) as Partial<CheckpointLine> | undefined;
    if (line?.marks) yield line.marks;
  }
}

function isParkedLine(line: unknown): line is ParkedLine {
  return ['text', 'kept', 'failure'].some((name) => Object.hasOwn(line as object, name));
}

/** Throws an AutomateError if the line has changed since the journal was read. */
function parkedText(written: string): string {
  const line = parseLine(written) as { text: [number, number, string] } | undefined;
  if (line === undefined) throw new AutomateError('output', 'the journal was changed during the run');
  return line.text[2];
}

function toJournal(path: string, handle: FileHandle, space: OutputSpace | undefined): Journal {
  let writing: Promise<void> = Promise.resolve();
  /** Lines are written one after another, because saved files are noted while a checkpoint is written. */
  const inOrder = (write: () => Promise<void>): Promise<void> => {
    const written = writing.then(() => namingErrors(path, 'written', write));
    writing = written.catch(() => undefined);
    return written;
  };
  return {
    add: (checkpoint, marks = []) => inOrder(() => appendLine(handle, marks.length === 0 ? checkpoint : { ...checkpoint, marks }, space)),
    park: (records) => inOrder(() => appendParked(handle, records)),
    noteSaved: (name) => inOrder(() => handle.appendFile(lineOf({ saved: name } satisfies SavedLine))),
    complete: (end) =>
      inOrder(async () => {
        await appendLine(handle, { complete: true, ...end } satisfies EndLine);
        await handle.close();
      }),
    close: () => inOrder(() => handle.close()),
  };
}

async function appendLine(handle: FileHandle, value: unknown, space?: OutputSpace): Promise<void> {
  const line = Buffer.from(lineOf(value));
  await space?.take(line.length, 'output');
  await handle.appendFile(line);
  await handle.datasync();
}

/** Takes no disk space, because without these lines a resumed run would send the requests of the records again. */
async function appendParked(handle: FileHandle, records: ParkedRecords): Promise<void> {
  for await (const line of parkedLines(records)) await handle.appendFile(lineOf(line));
  await handle.datasync();
}

interface RecordRange {
  first: number;
  last: number;
  /** The position in the input after the last record of the range. */
  end: Item['end'];
}

/** Records may finish in any order. */
export class InputProgress {
  #records: number;
  #end: Item['end'];
  /** Finished records after the first unfinished one, by the number of their first record. */
  readonly #byFirst = new Map<number, RecordRange>();
  readonly #byLast = new Map<number, RecordRange>();

  /** Starts after the records that an earlier run's checkpoint lists as finished. */
  constructor({ records, offset, line, file }: Pick<Checkpoint, 'records' | keyof TextPosition>) {
    this.#records = records;
    this.#end = { offset, line, file };
  }

  add(item: Item): void {
    const range = this.#joinNeighbours(item);
    if (range.first === this.#records + 1) {
      this.#records = range.last;
      this.#end = range.end;
    } else {
      this.#byFirst.set(range.first, range);
      this.#byLast.set(range.last, range);
    }
  }

  /** Counts up to the first unfinished record and gives the input position there, and the ranges of finished records after it. */
  reached(): Pick<Checkpoint, 'records' | 'beyond' | keyof TextPosition> {
    const ranges = [...this.#byFirst.values()].sort((a, b) => a.first - b.first);
    return { records: this.#records, ...this.#end, beyond: ranges.map(({ first, last }) => [first, last]) };
  }

  #joinNeighbours(item: Item): RecordRange {
    const number = placeOf(item);
    const before = this.#byLast.get(number - 1);
    const after = this.#byFirst.get(number + 1);
    for (const range of [before, after]) {
      if (!range) continue;
      this.#byFirst.delete(range.first);
      this.#byLast.delete(range.last);
    }
    return { first: before?.first ?? number, last: after?.last ?? number, end: after?.end ?? item.end };
  }
}
