import type { Item } from '../../core/item.ts';
import type { Forecaster } from '../../engine/forecast/forecast.ts';
import { createCsvReader } from '../../io/records/readers/csv-reader.ts';
import { readHead } from '../../io/records/readers/head.ts';
import { openInput } from '../../io/records/readers/input.ts';
import { createNdjsonReader } from '../../io/records/readers/ndjson-reader.ts';
import type { Position, RecordReader } from '../../io/records/readers/record-reader.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { checkedUtf8 } from '../../io/records/readers/utf8.ts';
import type { InputOptions } from '../input-options.ts';
import { type DoubtfulRow, type LookThrough, lookThroughLines, lookThroughTable } from './dry-run-rows.ts';

/** A file whose plain records can be counted without being read. */
export interface CountableFile {
  readonly path: string;
  readonly look: LookThrough;
  /** The real reader, from a place on. */
  readerAt(from: Position): RecordReader;
}

/** The input as a file whose plain records can be counted; absent when it is none. `fields`: by which a record is plain. */
export async function countableFile(options: InputOptions, source: Source, fields: readonly string[]): Promise<CountableFile | undefined> {
  const { in: path, encoding = 'utf-8' } = options;
  const { kind, gzip } = source.format;
  if (source.totalBytes === undefined || gzip || kind === 'json' || !/^utf-?8$/i.test(encoding)) return undefined;
  if (kind === 'ndjson') return { path, look: lookThroughLines(fields), readerAt: (from) => createNdjsonReader(path, from) };
  const delimiter = options.delimiter ?? (kind === 'tsv' ? '\t' : ',');
  if (!/^[\t\x20-\x7e]$/.test(delimiter)) return undefined;
  const header = await headerOf(path, delimiter);
  // Columns that an errors file added say which rows could not be read then.
  if (header?.length !== source.columns?.length || !header) return undefined;
  const matters = header.map((name) => fields.includes(name));
  return { path, look: lookThroughTable(delimiter, matters), readerAt: (from) => createCsvReader(path, delimiter, { from, header }) };
}

async function headerOf(path: string, delimiter: string): Promise<readonly string[] | undefined> {
  const input = await openInput(path, process.stdin);
  const { reader } = await readHead(createCsvReader(path, delimiter), input.bytes(0), false);
  await input.close();
  return reader.header();
}

/** A row longer than this is left to the real reader. */
const longestRow = 256 * 1024;

/**
 * Counts the plain records from a place on up to the record `last`, and adds the others one by one. Answers from where on
 * the real reader has to read; absent when nothing is left. Throws an AutomateError (`input`).
 */
export async function countOn(file: CountableFile, from: Position, last: number, forecaster: Forecaster): Promise<Position | undefined> {
  const { path, look } = file;
  const reader = file.readerAt(from);
  const waiting: DoubtfulRow[] = [];
  const input = await openInput(path, process.stdin);
  let to = from;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of checkedUtf8(input.bytes(from.offset), path, from.offset)) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      if ((await lookOn(false)) || rest.length > longestRow) return await finished(to);
    }
    return await finished((await lookOn(true)) || rest.length > 0 ? to : undefined);
  } finally {
    await input.close();
  }

  /** Answers whether to stop here. */
  async function lookOn(isLast: boolean): Promise<boolean> {
    const rows = look(rest, to, last - to.records, isLast);
    to = rows.to;
    rest = rest.subarray(rows.bytes);
    forecaster.addPlain(rows.plain);
    waiting.push(...rows.doubtful);
    if (rows.doubtful.length > 0) await addAll(await reader.write(Buffer.concat(rows.doubtful.map(({ bytes }) => bytes))));
    return rows.isOdd || to.records >= last;
  }

  async function finished(next: Position | undefined): Promise<Position | undefined> {
    await addAll(await reader.end());
    if (waiting.length > 0) throw new Error(`${path}: ${waiting.length} records were looked at and not read`);
    return next && next.records < last ? next : undefined;
  }

  async function addAll(items: readonly Item[]): Promise<void> {
    for (const item of items) {
      const row = waiting.shift() as DoubtfulRow;
      // The reader has not seen what was before it: only for the first failure, which is told, does its line matter.
      const isTold = item.failure && forecaster.failing() === 0;
      await forecaster.add(isTold ? await readAlone(row) : { ...item, number: row.at.records + 1 });
    }
  }

  async function readAlone({ at, bytes }: DoubtfulRow): Promise<Item> {
    const alone = file.readerAt(at);
    return [...(await alone.write(bytes)), ...(await alone.end())][0] as Item;
  }
}
