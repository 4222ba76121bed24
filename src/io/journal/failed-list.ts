import { open, rm } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import type { Written } from '../output/sink.ts';
import type { Format } from '../records/format.ts';
import type { Identity } from './identity.ts';
import { lineOf, linesOf, parseLine, refuseNoFile } from './lines.ts';

/** Consecutive failed records, and the place of their rows in the text of the output: uncompressed, in bytes. */
export type Mark = readonly [first: number, count: number, offset: number];

/** The head of the list of failed records: the facts about a complete run that a retry needs. */
export interface FailedList {
  /** The run's UUID. */
  readonly run: string;
  readonly identity: Identity;
  /** The full path of the flow file. */
  readonly flow: string;
  /** The options of the run that a retry needs, by their names. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly columns: { readonly input: readonly string[]; readonly output: readonly string[] };
  readonly formats: { readonly output: Format; readonly errors: Format };
  /** The output: its content, and the places of its first row and of the end of its last one in its text. */
  readonly output: Written & { readonly firstRow: number; readonly rowsEnd: number };
  readonly counts: {
    readonly written: number;
    readonly failed: number;
    readonly rows: number;
    /** Undefined for none. */
    readonly filtered?: number;
    /** Records that were removed from the errors file before a retry; undefined for none. */
    readonly givenUp?: number;
  };
}

/** The part of a list that is not in the journal of its run. */
export type ListOfRun = Omit<FailedList, 'run' | 'identity'>;

/** The list and its records. */
export interface FoundFailures extends FailedList {
  readonly failed: FailedRecords;
}

/** The path of the list, next to the output. */
export function failedListPath(out: string): string {
  return `${out}.automate-failed`;
}

/** Writes a list to a new file. Throws an AutomateError (`output`). */
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

/** Reads a list; absent if there is no list. Throws an AutomateError (`output-exists`) if it is damaged. */
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
  throw new AutomateError('output-exists', `${path} is damaged: the places of the failed records are not known`);
}

/** Numbers in a group: the first record, the count, the place of their rows. */
const groupSize = 3;

/** The failed records of a run and the places of their rows. Takes 24 bytes for neighbours that failed together. */
export class FailedRecords {
  #groups: number[] = [];
  #isSorted = true;

  /** Runs with --unordered add records in any order. */
  add(marks: readonly Mark[]): void {
    for (const mark of marks) {
      if (mark[0] < (this.#groups.at(-groupSize) ?? 0)) this.#isSorted = false;
      this.#groups.push(...mark);
    }
  }

  /** The place of a record's rows; absent for a record that has not failed. */
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
