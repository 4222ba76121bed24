import { AutomateError } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { listedNames } from '../core/text/suggest.ts';
import { Unreadable } from './errors-file.ts';
import type { HeaderPlace } from './header.ts';
import { inputError, type Position } from './record-reader.ts';
import type { InputNote, RecordSource } from './source.ts';

type Open = (path: string, from: Position | undefined) => Promise<RecordSource>;

interface Begin extends Pick<HeaderPlace, 'headerLine'> {
  readonly from?: Position;
}

/** Numbers records consecutively, in file order. Throws an AutomateError: `usage` for different formats, `input` for different columns. */
export async function openJoined(paths: readonly string[], open: Open, begin: Begin = {}): Promise<RecordSource> {
  const joined = new JoinedInputs(paths, open, begin);
  try {
    return await joined.open();
  } catch (error) {
    await joined.close();
    throw error;
  }
}

/** A file whose format and columns are known, because its beginning was read. */
interface Checked extends Pick<RecordSource, 'format' | 'header' | 'columns' | 'givenNames' | 'firstFields' | 'totalBytes'> {
  readonly path: string;
  /** Number of notes about its beginning. */
  readonly noted: number;
}

class JoinedInputs {
  readonly #paths: readonly string[];
  readonly #open: Open;
  /** The position where reading begins. In a resumed run, earlier files are already finished. */
  readonly #start: number;
  readonly #from: Position | undefined;
  readonly #headerLine: number | undefined;
  /** By index: the file at which reading begins, and all streams, because a stream cannot be opened twice. */
  readonly #sources = new Map<number, RecordSource>();
  #files: readonly Checked[] = [];
  readonly #notes: InputNote[] = [];
  /** Index of the file being read. */
  #present: number;
  #isClosed = false;

  constructor(paths: readonly string[], open: Open, { from, headerLine }: Begin) {
    this.#paths = paths;
    this.#open = open;
    this.#from = from;
    this.#headerLine = headerLine;
    this.#start = from?.file ?? 0;
    this.#present = this.#start;
  }

  async open(): Promise<RecordSource> {
    const files: Checked[] = [];
    for (const index of this.#paths.keys()) {
      const file = await this.#check(index);
      refuseMisfit(files[0] ?? file, file, this.#headerLine);
      files.push(file);
    }
    this.#files = files;
    const [{ format, header }] = files as [Checked];
    return {
      format,
      header,
      columns: files.find(({ columns }) => columns)?.columns,
      givenNames: [...new Set(files.flatMap(({ givenNames = [] }) => givenNames))],
      firstFields: knownFields(files),
      notes: this.#notes,
      totalBytes: totalSize(files),
      readBytes: () => this.#earlierBytes() + (this.#sources.get(this.#present)?.readBytes() ?? 0),
      earlierBytes: () => this.#earlierBytes(),
      read: () => this.#read(),
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sources.values()].map((source) => source.close()));
  }

  /** Reads the beginning, so that all files are known to match before the first record is processed. */
  async #check(index: number): Promise<Checked> {
    const path = this.#paths[index] as string;
    const source = await this.#open(path, index === this.#start ? this.#from : undefined);
    const { format, header, columns, givenNames, firstFields, notes, totalBytes } = source;
    if (index === this.#start || totalBytes === undefined) this.#sources.set(index, source);
    else await source.close();
    this.#notes.push(...notes);
    return { path, format, header, columns, givenNames, firstFields, noted: notes.length, totalBytes };
  }

  async *#read(): AsyncGenerator<readonly Item[]> {
    let last = this.#from?.records ?? 0;
    for (let index = this.#start; index < this.#paths.length && !this.#isClosed; index++) {
      // In the file in which a resumed run continues, the record numbers already count the records of earlier files.
      const before = index === this.#start ? 0 : last;
      const source = await this.#sourceOf(index);
      let { noted } = this.#files[index] as Checked;
      const takeNotes = () => {
        for (; noted < source.notes.length; noted++) this.#notes.push(source.notes[noted] as InputNote);
      };
      for await (const items of source.read()) {
        takeNotes();
        const joined = items.map((item) => this.#joined(item, before, index));
        last = joined.at(-1)?.number ?? last;
        yield joined;
      }
      takeNotes();
      await source.close();
    }
  }

  async #sourceOf(index: number): Promise<RecordSource> {
    const source = this.#sources.get(index) ?? (await this.#open(this.#paths[index] as string, undefined));
    this.#sources.set(index, source);
    this.#present = index;
    if (this.#isClosed) await source.close();
    return source;
  }

  #joined(item: Item, before: number, file: number): Item {
    const { failure } = item;
    const joined = { ...item, number: before + item.number, end: { ...item.end, file } };
    return failure instanceof Unreadable ? { ...joined, failure: failure.inFile(this.#paths[file] as string) } : joined;
  }

  #earlierBytes(): number {
    return totalSize(this.#files.slice(0, this.#present)) ?? 0;
  }
}

/** Throws an AutomateError: `usage` if the formats differ, `input` if the columns do. */
function refuseMisfit(first: Checked, other: Checked, line = 1): void {
  const [kind, found] = [first.format.kind, other.format.kind];
  if (found !== kind)
    throw new AutomateError('usage', `expected inputs of one format: ${first.path} is ${kind}, and ${other.path} is ${found}`);
  // Without a header, each record can have different fields.
  if (!first.header) return;
  const missing = columnsBeyond(first.columns, other.columns);
  const more = columnsBeyond(other.columns, first.columns);
  if (missing.length + more.length === 0) return;
  const parts = [
    ...(missing.length > 0 ? [`no column ${columnNames(missing)}`] : []),
    ...(more.length > 0 ? [`${columnNames(more)} in addition`] : []),
  ];
  throw inputError(other.path, `expected the columns of ${first.path}, found ${parts.join(', and ')}`, { line });
}

function columnsBeyond(columns: readonly string[] = [], others: readonly string[] = []): string[] {
  return columns.filter((name) => !others.includes(name));
}

function columnNames(names: readonly string[]): string {
  return listedNames(names, (name) => `"${name}"`);
}

function knownFields(files: readonly Checked[]): string[] | undefined {
  const known = files.flatMap(({ firstFields }) => (firstFields ? [firstFields] : []));
  return known.length === 0 ? undefined : [...new Set(known.flat())];
}

/** Undefined if a file is a stream. */
function totalSize(files: readonly Checked[]): number | undefined {
  return files.reduce<number | undefined>(
    (sum, { totalBytes }) => (sum === undefined || totalBytes === undefined ? undefined : sum + totalBytes),
    0,
  );
}
