import type { Format } from '../../records/formats.ts';
import type { Identity } from '../run-identity.ts';
import type { Written } from '../sink.ts';

/** Consecutive failed records, and the byte offset in the uncompressed output at which a retry inserts their rows. */
export type Mark = readonly [first: number, count: number, offset: number];

/** Everything that is needed to retry a run's failed records. */
export interface FailedList {
  readonly run: string;
  readonly identity: Identity;
  /** The absolute path of the output. It is a different one if the files were copied or moved. */
  readonly path: string;
  readonly errors?: Written;
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

/** The fields that the run provides. The other fields are taken from the run's journal. */
export type ListOfRun = Omit<FailedList, 'run' | 'identity'>;

export interface FoundFailures extends FailedList {
  readonly failed: FailedRecords;
}

/** A range is stored as three numbers: the first record, the number of records, and the byte offset of their rows. */
const groupSize = 3;

/** A range of consecutive failed records takes only 24 bytes. */
export class FailedRecords {
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
