import type { Item } from '../core/item.ts';
import type { RecordSource } from '../records/source.ts';

export interface InputReading {
  /** Records read for this part of the run. */
  records: number;
  /** Input bytes before the first record of this part of the run: they were skipped, or processed before the run was resumed. */
  bytesBefore: number;
  isComplete: boolean;
}

/** With two batches read ahead, the total number of records is known before the last batch is processed. */
const batchesAhead = 2;

/** Yields the batches of an input and counts their records as they are read. */
export async function* countItems(
  batches: AsyncIterable<readonly Item[]>,
  source: Pick<RecordSource, 'readBytes' | 'earlierBytes'>,
  reading: InputReading,
): AsyncGenerator<readonly Item[]> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    const ahead = Array.from({ length: batchesAhead }, readNext);
    for (let next = await ahead.shift(); next && !next.done; next = await ahead.shift()) {
      ahead.push(readNext());
      yield next.value;
    }
  } finally {
    // Not awaited, because the iterator would first wait for the next chunk of a pipe, which might never come.
    void iterator.return?.();
  }

  function readNext(): Promise<IteratorResult<readonly Item[]>> {
    const next = iterator.next().then((result) => {
      if (result.done) reading.isComplete = true;
      else note(result.value);
      return result;
    });
    // A read error is thrown later, when its batch is consumed. This handler keeps Node.js from reporting the error as unhandled before
    // that.
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

/** The share of the text read so far. Offsets refer to the decompressed text, so they cannot be compared with byte counts. */
function shareBefore(items: readonly Item[]): number {
  const [first, last] = [items[0], items.at(-1)].map((item) => item?.end.offset ?? 0) as [number, number];
  return last === 0 ? 0 : first / last;
}

/** The finished share of the work, from 0 to 1. `ofPart` is the share of the work since the run was resumed, `ofWhole` of the whole run. */
export interface FinishedShare {
  readonly ofPart: number;
  readonly ofWhole: number;
}

interface ShareFacts {
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  readonly reading: InputReading;
  /** Records finished since the run was resumed. `recordsBefore` were finished before that. */
  readonly doneRecords: number;
  readonly recordsBefore: number;
  readonly limit: number | undefined;
}

/** Undefined if the size of the input is not known. */
export function shareDone(facts: ShareFacts): FinishedShare | undefined {
  const { totalBytes, reading, doneRecords, recordsBefore } = facts;
  const ofPart = shareOfPart(facts);
  if (ofPart === undefined || recordsBefore === 0) return ofPart === undefined ? undefined : { ofPart, ofWhole: ofPart };
  if (reading.isComplete) return { ofPart, ofWhole: (recordsBefore + doneRecords) / (recordsBefore + reading.records) };
  return { ofPart, ofWhole: totalBytes === undefined ? ofPart : 1 - (1 - ofPart) * (1 - reading.bytesBefore / Math.max(1, totalBytes)) };
}

/** Not all records read are finished, so the share of bytes read is multiplied by the finished share of these records. */
function shareOfPart({ totalBytes, readBytes, reading, doneRecords, limit }: ShareFacts): number | undefined {
  if (reading.records === 0) return undefined;
  if (reading.isComplete) return doneRecords / reading.records;
  const ofBytes = (total: number) => (readBytes - reading.bytesBefore) / Math.max(1, total - reading.bytesBefore);
  const ofInput = totalBytes === undefined ? undefined : ofBytes(totalBytes) * (doneRecords / reading.records);
  const ofLimit = limit === undefined ? undefined : doneRecords / limit;
  return ofInput === undefined || ofLimit === undefined ? (ofInput ?? ofLimit) : Math.max(ofInput, ofLimit);
}
