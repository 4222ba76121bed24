import { open, rm } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { fileError, namingErrors } from '../../files/naming-errors.ts';
import type { Format } from '../../records/formats.ts';
import type { Identity } from '../run-identity.ts';
import type { Written } from '../sink.ts';
import { lineOf, linesOf, parseLine, refuseNoFile } from './lines.ts';

/** Consecutive failed records, and the byte offset in the uncompressed output at which a retry inserts their rows. */
export type Mark = readonly [first: number, count: number, offset: number];

/** The first line of the file that lists a run's failed records: everything that is needed to retry them. */
export interface FailedList {
  /** The run's UUID. */
  readonly run: string;
  readonly identity: Identity;
  /** An absolute path. */
  readonly flow: string;
  /** The options that a retry also needs, by name. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly columns: { readonly input: readonly string[]; readonly output: readonly string[] };
  readonly formats: { readonly output: Format; readonly errors: Format };
  /** Byte offsets: where the output's first row begins and its last row ends. */
  readonly output: Written & { readonly firstRow: number; readonly rowsEnd: number };
  readonly counts: {
    readonly written: number;
    readonly failed: number;
    readonly rows: number;
    readonly filtered?: number;
    /** Failed records that the user deleted from the errors file before a retry. */
    readonly givenUp?: number;
  };
}

/** What the run provides. The other fields are taken from the run's journal. */
export type ListOfRun = Omit<FailedList, 'run' | 'identity'>;

export interface FoundFailures extends FailedList {
  readonly failed: FailedRecords;
}

/** Next to the output file. */
export function failedListPath(out: string): string {
  return `${out}.automate-failed`;
}

/** Replaces any earlier list. Throws an AutomateError (`output`) if the file cannot be written. */
export function writeFailedList(path: string, list: FailedList, marks: AsyncIterable<readonly Mark[]>): Promise<void> {
  return namingErrors(path, 'written', async () => {
    await rm(path, { force: true });
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await handle.appendFile(lineOf(list));
      for await (const some of marks) await handle.appendFile(lineOf({ marks: some }));
      await handle.appendFile(lineOf({ complete: true }));
      await handle.datasync();
    } finally {
      await handle.close();
    }
  });
}

/** Undefined if the file does not exist. Throws an AutomateError (`output-exists`) if it is damaged. */
export async function readFailedList(path: string): Promise<FoundFailures | undefined> {
  refuseNoFile(path, 'the list of failed records');
  let list: FailedList | undefined;
  const failed = new FailedRecords();
  let isComplete = false;
  try {
    for await (const bytes of linesOf(path)) {
      const line = parseLine(bytes.toString()) as { marks?: readonly Mark[] } | undefined;
      if (line === undefined) break;
      if (!list) list = line as FailedList;
      else if (line.marks) failed.add(line.marks);
      else isComplete = true;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileError(path, 'read', error);
  }
  if (list && isComplete) return { ...list, failed };
  throw new AutomateError('output-exists', `${path} is damaged: the positions of the failed records are not known`);
}

/** A range is stored as three numbers: the first record, the number of records, and the byte offset of their rows. */
const groupSize = 3;

/** A range of consecutive failed records takes only 24 bytes. */
class FailedRecords {
  #groups: number[] = [];
  #isSorted = true;

  /** With --unordered, ranges may be added in any order. */
  add(marks: readonly Mark[]): void {
    for (const mark of marks) {
      if (mark[0] < (this.#groups.at(-groupSize) ?? 0)) this.#isSorted = false;
      this.#groups.push(...mark);
    }
  }

  /** The byte offset at which a retry inserts the record's rows; undefined if the record has not failed. */
  placeOf(record: number): number | undefined {
    if (!this.#isSorted) this.#sort();
    let [low, high] = [0, this.#groups.length / groupSize];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#groups[middle * groupSize] as number) <= record) low = middle + 1;
      else high = middle;
    }
    const [first = 0, count = 0, place] = this.#groups.slice((low - 1) * groupSize, low * groupSize);
    return low > 0 && record < first + count ? place : undefined;
  }

  #sort(): void {
    const marks = Array.from({ length: this.#groups.length / groupSize }, (_, at) =>
      this.#groups.slice(at * groupSize, (at + 1) * groupSize),
    );
    this.#groups = marks.sort(([one = 0], [other = 0]) => one - other).flat();
    this.#isSorted = true;
  }
}
