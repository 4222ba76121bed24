import type { ColumnNames } from '../core/column-names.ts';
import type { PartialRows, RowsText, SpilledRows, Success } from '../core/item.ts';
import type { Fields } from '../core/record.ts';
import type { Redactor } from '../credentials/redact.ts';
import type { RecordWriter } from '../records/format.ts';
import type { Mark } from './journal/failed-list.ts';
import type { ParkedRows, RenderedRows } from './journal/parked-records.ts';
import { maxRendered, Renderer, type SpilledPiece } from './renderer.ts';
import type { Sink } from './sink.ts';
import type { SpilledText } from './spill.ts';
import type { RememberedRows } from './truth-file.ts';

/** Characters joined for one write. Without a limit, many records waiting for a slow one could exceed the maximum length of a string. */
const maxJoined = 1024 * 1024;

/** Text in memory, text that may be on disk, or a marker, whose position in the file is noted when it is reached. */
type Piece = string | SpilledPiece | FailedPiece | PlacePiece;

/** The start or end of a record's rows, for its entry in the memory file. */
interface PlacePiece {
  readonly entry: RememberedRows;
  readonly side: 'start' | 'end';
}

/** The position at which the rows of consecutive failed records are missing. */
interface FailedPiece {
  readonly first: number;
  count: number;
}

/** Discards temporary text on disk. Returns the failed records with the positions at which their rows are missing. */
export async function writeAll(sink: Sink, begin: string, pieces: readonly Piece[]): Promise<Mark[]> {
  const marks: Mark[] = [];
  const text = new JoinedText(sink, begin);
  for (const piece of pieces) {
    if (isPlace(piece)) {
      piece.entry[piece.side] = text.place();
      continue;
    }
    if (isFailed(piece)) {
      marks.push([piece.first, piece.count, text.place()]);
      continue;
    }
    for await (const more of typeof piece === 'string' ? [piece] : piece.texts()) {
      if (text.length + more.length > maxJoined) await text.write();
      text.add(more);
    }
    if (typeof piece !== 'string') piece.drop();
  }
  await text.write();
  return marks;
}

class JoinedText {
  readonly #sink: Sink;
  #text: string;
  /** Its length is already in `#countedBytes`, because a position after this text was requested. */
  #counted: string[] = [];
  #countedBytes = 0;
  length: number;

  constructor(sink: Sink, begin: string) {
    this.#sink = sink;
    this.#text = begin;
    this.length = begin.length;
  }

  add(text: string): void {
    this.#text += text;
    this.length += text.length;
  }

  /** The end of the joined text in the file, in bytes of uncompressed text. */
  place(): number {
    this.#countedBytes += Buffer.byteLength(this.#text);
    this.#counted.push(this.#text);
    this.#text = '';
    return this.#sink.written.text + this.#countedBytes;
  }

  async write(): Promise<void> {
    await this.#sink.write(this.#counted.join('') + this.#text);
    this.#counted = [];
    this.#countedBytes = 0;
    this.#text = '';
    this.length = 0;
  }
}

export function isPlace(piece: Piece): piece is PlacePiece {
  return typeof piece !== 'string' && 'entry' in piece;
}

function isFailed(piece: Piece): piece is FailedPiece {
  return typeof piece !== 'string' && 'count' in piece;
}

export interface OldPart {
  texts(): AsyncIterable<string>;
  /** True if the part begins with the first row of the earlier output. No separator precedes this row. */
  readonly isFirst: boolean;
  readonly hasRows: boolean;
}

/** Renders rows with all secrets masked. The text is queued until it is written. */
export class RecordText {
  readonly #renderer: Renderer;
  #rows: Fields[] = [];
  #text = '';
  #pieces: Piece[] = [];
  #queuedLength = 0;
  #isFirst: boolean;

  /** `hasRecords` is true if the file already contains rows from an earlier run. */
  constructor(writer: RecordWriter, hasRecords: boolean, redactor: Redactor, names: ColumnNames) {
    this.#renderer = new Renderer(writer, redactor, names);
    this.#isFirst = !hasRecords;
  }

  begin(): string {
    return this.#renderer.begin();
  }

  end(): string {
    return this.#renderer.writer.end(!this.#isFirst);
  }

  add(rows: readonly Fields[]): void {
    for (const row of rows) this.#rows.push(row);
    if (this.#rows.length >= maxRendered) this.#renderRows();
  }

  /** Appends the rendered rows of an unfinished record to `text`. */
  partialRows(text: SpilledText): PartialRows {
    return new RowsInProgress(this.#renderer, text);
  }

  addSpilled(rows: SpilledRows): void {
    this.#renderRows();
    if (rows.rows === 0) {
      rows.drop();
      return;
    }
    this.#queueText();
    const rendered = rows as RenderedRows;
    this.#pieces.push(this.#isFirst ? this.#renderer.asFirst(rendered) : rendered);
    this.#isFirst = false;
  }

  /** Adds rows that are already text in the output's format. */
  addText({ rows, text }: RowsText): void {
    if (rows === 0) return;
    this.#renderRows();
    this.#addText(this.#isFirst ? text.slice(this.#renderer.writer.between.length) : text);
    this.#isFirst = false;
  }

  addFailed(record: number): void {
    this.#renderRows();
    if (this.#text !== '') this.#queueText();
    const last = this.#pieces.at(-1);
    if (last !== undefined && isFailed(last) && last.first + last.count === record) last.count++;
    else this.#pieces.push({ first: record, count: 1 });
  }

  /** The current position is stored in `entry` when the text is written. */
  addPlace(entry: RememberedRows, side: 'start' | 'end'): void {
    this.#renderRows();
    if (this.#text !== '') this.#queueText();
    this.#pieces.push({ entry, side });
  }

  addOld({ texts, isFirst, hasRows }: OldPart): void {
    this.#renderRows();
    this.#queueText();
    if (isFirst && !this.#isFirst) this.#pieces.push(this.#renderer.writer.between);
    this.#pieces.push({ texts, drop: () => undefined });
    if (hasRows) this.#isFirst = false;
  }

  /** Masks all secrets. Rows stay as they are if one string would be too long. */
  renderedRows(rows: readonly Fields[]): Success {
    const [text = '', ...more] = this.#renderer.texts(rows, false);
    return more.length === 0 ? { rendered: { rows: rows.length, text } } : { rows };
  }

  parkedRows(outcome: Success): ParkedRows {
    if ('spilled' in outcome) return outcome.spilled as RenderedRows;
    if ('rendered' in outcome) return parkedText(outcome.rendered.rows, () => [outcome.rendered.text]);
    const { rows } = outcome;
    return parkedText(rows.length, () => this.#renderer.texts(rows, false));
  }

  /** Characters in the queue, without text on disk and rows that have not been rendered. */
  get waiting(): number {
    return this.#queuedLength + this.#text.length;
  }

  /** Renders what has not been rendered yet, and empties the queue. */
  take(): Piece[] {
    this.#renderRows();
    this.#queueText();
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#queuedLength = 0;
    return pieces;
  }

  #renderRows(): void {
    if (this.#rows.length === 0) return;
    for (const more of this.#renderer.texts(this.#rows, this.#isFirst)) this.#addText(more);
    this.#isFirst = false;
    this.#rows = [];
  }

  #addText(text: string): void {
    if (this.#text.length + text.length > maxJoined) this.#queueText();
    this.#text += text;
  }

  #queueText(): void {
    this.#pieces.push(this.#text);
    this.#queuedLength += this.#text.length;
    this.#text = '';
  }
}

function parkedText(rows: number, texts: () => readonly string[]): ParkedRows {
  return {
    rows,
    async *texts() {
      yield* texts();
    },
  };
}

/** Renders a record's rows as they are added, even though the record is not finished yet. */
class RowsInProgress implements PartialRows, RenderedRows {
  readonly #renderer: Renderer;
  readonly #text: SpilledText;
  #count = 0;
  #first: Fields | undefined;

  constructor(renderer: Renderer, text: SpilledText) {
    this.#renderer = renderer;
    this.#text = text;
  }

  get rows(): number {
    return this.#count;
  }

  get first(): Fields | undefined {
    return this.#first;
  }

  async add(rows: readonly Fields[]): Promise<void> {
    for (const row of rows) {
      const failure = this.#renderer.writer.misfit(row);
      if (failure) throw failure;
    }
    this.#count += rows.length;
    this.#first ??= rows[0];
    for (const text of this.#renderer.texts(rows, false)) await this.#text.add(text);
  }

  texts(): AsyncIterable<string> {
    return this.#text.texts();
  }

  drop(): void {
    this.#text.drop();
  }
}
