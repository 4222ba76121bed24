import type { Item } from '../../core/item.ts';
import type { Source } from '../../io/records/readers/source.ts';

/** The position of a run in its input. */
export interface Reading {
  /** Records read for this run. */
  records: number;
  /** Bytes of the input before these records, which were skipped or are already done. */
  bytesBefore: number;
  /** True once there are no more. */
  isComplete: boolean;
}

/** Batches that are read ahead: the last chunk of a file, and what its end adds. So all records are counted before the last ones begin. */
const batchesAhead = 2;

/** Counts the records of an input as they are read. */
export async function* countItems(
  batches: AsyncIterable<readonly Item[]>,
  source: Pick<Source, 'readBytes' | 'earlierBytes'>,
  reading: Reading,
): AsyncGenerator<readonly Item[]> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    const ahead = Array.from({ length: batchesAhead }, readNext);
    for (let next = await ahead.shift(); next && !next.done; next = await ahead.shift()) {
      ahead.push(readNext());
      yield next.value;
    }
  } finally {
    // Not awaited: a pipe may never send what it is asked for.
    void iterator.return?.();
  }

  function readNext(): Promise<IteratorResult<readonly Item[]>> {
    const next = iterator.next().then((result) => {
      if (result.done) reading.isComplete = true;
      else note(result.value);
      return result;
    });
    // A fault is thrown once it is its turn.
    next.catch(() => undefined);
    return next;
  }

  function note(items: readonly Item[]): void {
    if (reading.records === 0) reading.bytesBefore = bytesBefore(items);
    reading.records += items.length;
  }

  function bytesBefore(items: readonly Item[]): number {
    const earlier = source.earlierBytes?.() ?? 0;
    return earlier + (source.readBytes() - earlier) * shareBefore(items);
  }
}

/** Offsets count unpacked text, so only their ratio applies to the file. */
function shareBefore(items: readonly Item[]): number {
  const [first, last] = [items[0], items.at(-1)].map((item) => item?.end.offset ?? 0) as [number, number];
  return last === 0 ? 0 : first / last;
}

/** A finished share, 0 to 1. */
export interface Share {
  readonly ofPart: number;
  readonly ofWhole: number;
}

/** The figures of the finished share. */
export interface ShareFacts {
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  readonly reading: Reading;
  /** Finished records of this run, and of those before it was resumed. */
  readonly doneRecords: number;
  readonly recordsBefore: number;
  /** Maximum of records of this run; absent for all. */
  readonly limit: number | undefined;
}

/** The finished share of the work; absent if it is not known. */
export function shareDone(facts: ShareFacts): Share | undefined {
  const { totalBytes, reading, doneRecords, recordsBefore } = facts;
  const ofPart = shareOfPart(facts);
  if (ofPart === undefined || recordsBefore === 0) return ofPart === undefined ? undefined : { ofPart, ofWhole: ofPart };
  if (reading.isComplete) return { ofPart, ofWhole: (recordsBefore + doneRecords) / (recordsBefore + reading.records) };
  return { ofPart, ofWhole: totalBytes === undefined ? ofPart : 1 - (1 - ofPart) * (1 - reading.bytesBefore / Math.max(1, totalBytes)) };
}

/** Reading runs ahead: of the bytes read, only the share of finished records counts. */
function shareOfPart({ totalBytes, readBytes, reading, doneRecords, limit }: ShareFacts): number | undefined {
  if (reading.records === 0) return undefined;
  if (reading.isComplete) return doneRecords / reading.records;
  const ofBytes = (total: number) => (readBytes - reading.bytesBefore) / Math.max(1, total - reading.bytesBefore);
  const ofInput = totalBytes === undefined ? undefined : ofBytes(totalBytes) * (doneRecords / reading.records);
  const ofLimit = limit === undefined ? undefined : doneRecords / limit;
  return ofInput === undefined || ofLimit === undefined ? (ofInput ?? ofLimit) : Math.max(ofInput, ofLimit);
}
