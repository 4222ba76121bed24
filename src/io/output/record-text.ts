import type { PartialRows, RowsText, SpilledRows, Success } from '../../core/item.ts';
import type { Fields } from '../../core/record.ts';
import type { Mark } from '../journal/failed-list.ts';
import type { ParkedRows, RenderedRows } from '../journal/parked-records.ts';
import type { RecordWriter } from '../records/writers/record-writer.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { RememberedRows } from '../update/memory-file.ts';
import { maxRendered, Renderer, type SpilledPiece } from './renderer.ts';
import type { Sink } from './sink.ts';
import type { SpilledText } from './spill.ts';

/** Characters that are joined into one text: rows that waited for a slow record may be longer together than a string can be. */
const maxJoined = 1024 * 1024;

/** Text for the output: a string, or text that may have spilled. Between them stand failed records. */
export type Piece = string | SpilledPiece | FailedPiece | PlacePiece;

/** A place that is to be remembered. */
interface PlacePiece {
  readonly entry: RememberedRows;
  readonly side: 'start' | 'end';
}

/** Consecutive records that failed at this place. */
interface FailedPiece {
  readonly first: number;
  count: number;
}

/** Writes pieces in their order, and deletes the spilled pieces. Returns the failed records with their places. */
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

/** Text that is joined before it is written. */
class JoinedText {
  readonly #sink: Sink;
  #text: string;
  /** Text before the last place that was asked for. */
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

  /** The place after this text in the file, in bytes of text. */
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

/** True for a place that is to be remembered. */
export function isPlace(piece: Piece): piece is PlacePiece {
  return typeof piece !== 'string' && 'entry' in piece;
}

function isFailed(piece: Piece): piece is FailedPiece {
  return typeof piece !== 'string' && 'count' in piece;
}

/** A part of an earlier file. */
export interface OldPart {
  texts(): AsyncIterable<string>;
  /** True if it begins with the first row of that file: then nothing separates it from rows before it. */
  readonly isFirst: boolean;
  readonly hasRows: boolean;
}

/** Turns rows into the text of a file, with every secret masked, and queues it until it is written. */
export class RecordText {
  readonly #renderer: Renderer;
  #rows: Fields[] = [];
  #text = '';
  #pieces: Piece[] = [];
  #queuedLength = 0;
  #isFirst: boolean;

  /** `hasRecords`: the file has records already. */
  constructor(writer: RecordWriter, hasRecords: boolean, redactor: Redactor) {
    this.#renderer = new Renderer(writer, redactor);
    this.#isFirst = !hasRecords;
  }

  /** The text before the first row. */
  begin(): string {
    return this.#renderer.begin();
  }

  /** The text after the last row. */
  end(): string {
    return this.#renderer.writer.end(!this.#isFirst);
  }

  add(rows: readonly Fields[]): void {
    for (const row of rows) this.#rows.push(row);
    if (this.#rows.length >= maxRendered) this.#renderRows();
  }

  /** Rows of an unfinished record, rendered into `text`. */
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

  /** Adds rows that are rendered already. */
  addText({ rows, text }: RowsText): void {
    if (rows === 0) return;
    this.#renderRows();
    this.#addText(this.#isFirst ? text.slice(this.#renderer.writer.between.length) : text);
    this.#isFirst = false;
  }

  /** Notes a failed record at this place. */
  addFailed(record: number): void {
    this.#renderRows();
    if (this.#text !== '') this.#queueText();
    const last = this.#pieces.at(-1);
    if (last !== undefined && isFailed(last) && last.first + last.count === record) last.count++;
    else this.#pieces.push({ first: record, count: 1 });
  }

  /** Notes the place at which the rows of a record begin or end. */
  addPlace(entry: RememberedRows, side: 'start' | 'end'): void {
    this.#renderRows();
    if (this.#text !== '') this.#queueText();
    this.#pieces.push({ entry, side });
  }

  /** Copies rows of an earlier file. */
  addOld({ texts, isFirst, hasRows }: OldPart): void {
    this.#renderRows();
    this.#queueText();
    if (isFirst && !this.#isFirst) this.#pieces.push(this.#renderer.writer.between);
    this.#pieces.push({ texts, drop: () => undefined });
    if (hasRows) this.#isFirst = false;
  }

  /** The rows of a record as text for the journal. */
  parkedRows(outcome: Success): ParkedRows {
    if ('spilled' in outcome) return outcome.spilled as RenderedRows;
    if ('rendered' in outcome) return parkedText(outcome.rendered.rows, () => [outcome.rendered.text]);
    const { rows } = outcome;
    return parkedText(rows.length, () => this.#renderer.texts(rows, false));
  }

  /** Queued characters, without text that has spilled or is not rendered yet. */
  get waiting(): number {
    return this.#queuedLength + this.#text.length;
  }

  /** Empties the queue. */
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

/** Rows of one record, rendered as they come. */
class RowsInProgress implements PartialRows, RenderedRows {
  readonly #renderer: Renderer;
  readonly #text: SpilledText;
  #count = 0;

  constructor(renderer: Renderer, text: SpilledText) {
    this.#renderer = renderer;
    this.#text = text;
  }

  get rows(): number {
    return this.#count;
  }

  async add(rows: readonly Fields[]): Promise<void> {
    for (const row of rows) {
      const failure = this.#renderer.writer.misfit(row);
      if (failure) throw failure;
    }
    this.#count += rows.length;
    for (const text of this.#renderer.texts(rows, false)) await this.#text.add(text);
  }

  texts(): AsyncIterable<string> {
    return this.#text.texts();
  }

  drop(): void {
    this.#text.drop();
  }
}
