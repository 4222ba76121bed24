import { AutomateError } from '../../../core/failure.ts';
import type { Item } from '../../../core/item.ts';
import { isErrorField } from '../../../core/record.ts';
import { type Format, formatNames, formatOfPath } from '../format.ts';
import { createCsvReader } from './csv-reader.ts';
import { encodingOf, transcoded } from './encoding.ts';
import { gunzipped } from './gunzip.ts';
import { behind, type Head, readHead } from './head.ts';
import { type Input, openInput, refuseMissing } from './input.ts';
import { createJsonReader } from './json-reader.ts';
import { createNdjsonReader } from './ndjson-reader.ts';
import { beginning, type Position, type RecordReader } from './record-reader.ts';
import { checkedUtf8 } from './utf8.ts';

export type { Position } from './record-reader.ts';

/** Which records to read, and how they are written down. */
export interface SourceOptions {
  /** A file, or `-` for stdin. */
  readonly path: string;
  /** Absent: what the file's name says. */
  readonly format?: Format | undefined;
  /** One character, `tab` or `\t`. Absent: a comma, or a tab for TSV. */
  readonly delimiter?: string | undefined;
  /** A label such as `latin1` (encoding.spec.whatwg.org). Absent: UTF-8. */
  readonly encoding?: string | undefined;
  /** Where to go on; absent for the beginning. */
  readonly from?: Position | undefined;
  readonly stdin: NodeJS.ReadableStream;
}

/** An input, open for reading. */
export interface Source {
  readonly format: Format;
  /** The names of the columns, or of the first record's fields; absent when there is no record to tell. */
  readonly columns: readonly string[] | undefined;
  /** The records, to be read once. No more is read ahead than a chunk. Throws an AutomateError (`input`). */
  batches(): AsyncGenerator<readonly Item[]>;
  /** The size of the file; absent for a stream. */
  readonly totalBytes: number | undefined;
  /** How much of `totalBytes` was read. */
  readBytes(): number;
  /** Ends the batches, also while they wait for more. */
  close(): Promise<void>;
}

/** Opens an input and reads up to its first record. Throws an AutomateError (`usage`, `input`). */
export async function openSource(options: SourceOptions): Promise<Source> {
  const format = wantedFormat(options);
  const encoding = encodingOf(options.encoding ?? 'utf-8');
  const delimiter = wantedDelimiter(options, format);
  const input = await openInput(options.path, options.stdin);
  const written = { input, format, encoding, delimiter };
  try {
    return await opened(written, options.from);
  } catch (error) {
    await input.close();
    throw error;
  }
}

/** Where the text comes from and all that is needed to read it. */
interface Written {
  readonly input: Input;
  readonly format: Format;
  readonly encoding: string;
  readonly delimiter: string;
}

async function opened(written: Written, from: Position | undefined): Promise<Source> {
  const { input, format } = written;
  const isResumed = from !== undefined && from.offset > 0;
  const head = await readHead(readerOf(written), textOf(written, 0), isResumed && !canSeek(written));
  const header = head.reader.header();
  const rest = isResumed ? await resumed(written, head, from) : head;
  let isClosed = false;
  return {
    format,
    columns: header?.filter((name) => !isErrorField(name)) ?? firstNames(head.items),
    batches,
    totalBytes: input.totalBytes,
    readBytes: input.readBytes,
    async close() {
      isClosed = true;
      await input.close();
    },
  };

  async function* batches(): AsyncGenerator<readonly Item[]> {
    try {
      yield* batchesOf(rest);
    } catch (error) {
      if (!isClosed) throw error;
    }
  }
}

async function* batchesOf({ reader, items, chunks, isEnded }: Head): AsyncGenerator<readonly Item[]> {
  if (items.length > 0) yield items.splice(0);
  if (isEnded) return;
  refuseFault(reader);
  for await (const chunk of chunks) {
    const batch = await reader.write(chunk);
    if (batch.length > 0) yield batch;
    refuseFault(reader);
  }
  const last = await reader.end();
  if (last.length > 0) yield last;
}

/** Told at once: from a pipe nothing more may come. */
function refuseFault(reader: RecordReader): void {
  const fault = reader.fault?.();
  if (fault) throw fault;
}

async function resumed(written: Written, head: Head, from: Position): Promise<Head> {
  const reader = readerOf(written, from, head.reader.header());
  if (!canSeek(written)) return { reader, items: [], chunks: behind(from.offset, head), isEnded: false };
  await head.chunks.return(undefined);
  return { reader, items: [], chunks: textOf(written, from.offset), isEnded: false };
}

/** Whether an offset in the text is one in the file. */
function canSeek({ input, format, encoding }: Written): boolean {
  return input.isSeekable && encoding === 'utf-8' && !format.gzip;
}

function textOf({ input, format, encoding }: Written, start: number): AsyncGenerator<Buffer> {
  const bytes = input.bytes(start);
  const unzipped = format.gzip ? gunzipped(bytes, input.name) : bytes;
  return encoding === 'utf-8' ? checkedUtf8(unzipped, input.name, start) : transcoded(unzipped, encoding, input.name);
}

function readerOf({ input, format, delimiter }: Written, from = beginning, header?: readonly string[]): RecordReader {
  if (format.kind === 'json') return createJsonReader(input.name, from);
  if (format.kind === 'ndjson') return createNdjsonReader(input.name, from);
  return createCsvReader(input.name, delimiter, header && { from, header });
}

/** The format that was said, or that the file's name says. Throws an AutomateError (`usage`). */
export function wantedFormat({ path, format }: Pick<SourceOptions, 'path' | 'format'>): Format {
  const found = format ?? formatOfPath(path);
  if (found !== undefined) return found;
  if (path !== '-') refuseMissing(path);
  const names = formatNames.join(', ');
  if (path === '-') {
    throw new AutomateError('usage', `<stdin>: expected --in-format, found none\nthe formats are ${names}, each also with .gz`);
  }
  const extensions = formatNames.map((name) => `.${name}`).join(', ');
  throw new AutomateError(
    'usage',
    `${path}: expected a file name that ends in ${extensions}, or one of these and .gz\nor say what it holds: --in-format ${names}`,
  );
}

function wantedDelimiter({ delimiter }: SourceOptions, { kind }: Format): string {
  if (delimiter === undefined) return kind === 'tsv' ? '\t' : ',';
  if (kind === 'json' || kind === 'ndjson') throw new AutomateError('usage', `--delimiter: expected CSV or TSV, found ${kind}`);
  if (delimiter === 'tab' || delimiter === '\\t') return '\t';
  if ([...delimiter].length === 1 && !'"\r\n'.includes(delimiter)) return delimiter;
  throw new AutomateError('usage', `--delimiter: expected one character or "tab", found ${JSON.stringify(delimiter)}`);
}

function firstNames(items: readonly Item[]): string[] | undefined {
  const [first] = items;
  return first && [...(items.find((item) => !item.failure) ?? first).fields.keys()];
}
