import { type Item, type Outcome, type PartialRows, placeOf, type Success } from '../../core/item.ts';
import type { Output } from '../../core/ports.ts';
import type { Mark } from '../journal/failed-list.ts';
import type { Checkpoint, Journal } from '../journal/journal.ts';
import type { ParkedRows } from '../journal/parked-records.ts';
import { InputProgress } from '../journal/progress.ts';
import { errorRow } from '../records/errors.ts';
import type { RecordWriter } from '../records/writers/record-writer.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { MemoryLog, RememberedRows } from '../update/memory-file.ts';
import type { OldRows } from './old-rows.ts';
import { isPlace, RecordText, writeAll } from './record-text.ts';
import { checkRows } from './renderer.ts';
import { nothingWritten, type Sink, type Written } from './sink.ts';
import type { SpillFiles } from './spill.ts';

/** The parts of an output. */
export interface FileOutputParts {
  readonly records: { readonly writer: RecordWriter; readonly sink: Sink };
  readonly errors: {
    readonly writer: RecordWriter;
    /** True if an earlier run left an errors file to continue. A stream always starts anew. */
    readonly isBegun: boolean;
    /** Opens the errors file, at the first failure or after what an earlier run wrote. */
    open(): Promise<Sink>;
  };
  readonly redactor: Redactor;
  /** Holds rows of unfinished records. */
  readonly spillFiles: SpillFiles;
  /** Absent for a stream, in which nothing can be cut off. */
  readonly journal: Journal | undefined;
  /** The checkpoint at which the run begins. */
  readonly from: Checkpoint;
  credits(): number;
  /** The money and the tokens that nodes have spent. */
  spent?(): Pick<Checkpoint, 'costs' | 'tokens'>;
  /** Counts that the server stores in the checkpoint; absent for a command. */
  notes?: (() => object) | undefined;
  /** The output into which a retry inserts its rows; absent for other runs. */
  readonly old?: OldRows | undefined;
  /** Undefined for an output without a memory. */
  readonly memory?: OutputMemory | undefined;
  /** Completes the journal, puts the closed files in their places, and removes the journal. Absent for a stream. */
  readonly publish?: ((ended: EndedOutput) => Promise<void>) | undefined;
  /** Puts the closed files of a run in their places, complete or not, if it has no journal. Absent for a stream. */
  readonly settle?: ((isComplete: boolean, saved: Checkpoint) => Promise<void>) | undefined;
}

/** Remembers which rows belong to which record. */
export interface OutputMemory {
  readonly log: MemoryLog | undefined;
  /** The entry of a record, whose places are found when it is written; undefined for a record that is to run again. */
  rememberedAs(item: Item, rows: number): RememberedRows | undefined;
  close(): void;
}

/** The output of a complete run. */
export interface EndedOutput {
  readonly saved: Checkpoint;
  /** The whole content. */
  readonly out: Written;
  /** The whole errors file; absent if no record failed. */
  readonly errors?: Written | undefined;
  /** The places of the first row and of the end of the last one, in bytes of text. */
  readonly firstRow: number;
  readonly rowsEnd: number;
  /** The memory of the output; undefined for an output without one. */
  readonly memory?: MemoryLog | undefined;
}

/** The checkpoint of a run that has done nothing yet. */
export const untouched: Checkpoint = {
  records: 0,
  beyond: [],
  offset: 0,
  line: 0,
  out: nothingWritten,
  written: 0,
  failed: 0,
  rows: 0,
  credits: 0,
};

/**
 * The output of a run: rows go to one file, failed records to another, secrets to none.
 * A flush is a checkpoint: it writes and syncs both files, then adds their lengths to the journal as one line.
 */
export class FileOutput implements Output {
  readonly #parts: FileOutputParts;
  readonly #progress: InputProgress;
  readonly #records: RecordText;
  readonly #errors: RecordText;
  readonly #counts: { written: number; failed: number; filtered?: number; rows: number };
  /** Parked records that are not in the journal yet. */
  readonly #parked = new Map<number, ParkedRows>();
  #errorSink: Sink | undefined;
  #saved: Checkpoint;
  #hasBegun: boolean;
  #isBroken = false;
  /** The end of the last row in the text. */
  #rowsEnd = 0;

  constructor(parts: FileOutputParts) {
    const { records, errors, redactor, from, old } = parts;
    this.#parts = parts;
    this.#progress = new InputProgress(from);
    this.#records = new RecordText(records.writer, from.rows > 0 || (old?.hasRows ?? false), redactor);
    this.#errors = new RecordText(errors.writer, errors.isBegun, redactor);
    const { written, failed, filtered, rows } = from;
    this.#counts = { written, failed, ...(filtered !== undefined && { filtered }), rows };
    this.#saved = from;
    this.#hasBegun = from.out.bytes > 0 || old !== undefined;
  }

  partialRows(): PartialRows {
    return this.#records.partialRows(this.#parts.spillFiles.newText());
  }

  put(item: Item, outcome: Outcome, isFiltered = false): Outcome {
    const { records, errors, journal, old } = this.#parts;
    const checked = checkRows(outcome, records.writer);
    const before = old?.before(item.number);
    if (before) this.#records.addOld(before);
    if ('failure' in checked) {
      this.#errors.add([errorRow(item, checked.failure, errors.writer)]);
      if (journal) this.#records.addFailed(item.number);
      this.#counts.failed++;
    } else {
      this.#addRows(item, checked);
      if (isFiltered) this.#counts.filtered = (this.#counts.filtered ?? 0) + 1;
      else this.#counts.written++;
    }
    this.#progress.add(item);
    return checked;
  }

  #addRows(item: Item, success: Success): void {
    const rows = 'spilled' in success ? success.spilled.rows : 'rendered' in success ? success.rendered.rows : success.rows.length;
    const entry = this.#parts.memory?.rememberedAs(item, rows);
    this.#counts.rows += rows;
    if (entry) this.#records.addPlace(entry, 'start');
    if ('spilled' in success) this.#records.addSpilled(success.spilled);
    else if ('rendered' in success) this.#records.addText(success.rendered);
    else this.#records.add(success.rows);
    if (entry) this.#records.addPlace(entry, 'end');
  }

  park(item: Item, outcome: Success): boolean {
    if (!this.#parts.journal || 'failure' in checkRows(outcome, this.#parts.records.writer)) return false;
    if (!item.parked) this.#parked.set(placeOf(item), this.#records.parkedRows(outcome));
    return true;
  }

  /** Counts a record that an earlier run has written. */
  skip(item: Item): void {
    this.#progress.add(item);
  }

  get waiting(): number {
    return this.#records.waiting + this.#errors.waiting;
  }

  /** The last checkpoint. */
  saved(): Checkpoint {
    return this.#saved;
  }

  flush(): Promise<void> {
    return this.#orBreak(() => this.#flush());
  }

  /** Writes the ends of the files and closes them. After a failed write it only closes. `isComplete`: there is nothing left to resume. */
  async close(isComplete: boolean): Promise<void> {
    const { records, journal, old, publish, settle } = this.#parts;
    if (!this.#isBroken) await this.#orBreak(() => this.#end(isComplete));
    if (!isComplete && !this.#isBroken && this.#parked.size > 0) await journal?.park(this.#parked);
    const closed = await Promise.allSettled([records.sink.close(), this.#errorSink?.close(), old?.close()]);
    const refusal = closed.find((result) => result.status === 'rejected');
    this.#isBroken ||= refusal !== undefined;
    if (isComplete && !this.#isBroken) await this.#orBreak(async () => publish?.(this.#ended()));
    else {
      await journal?.close();
      await this.#parts.memory?.log?.close();
    }
    this.#parts.memory?.close();
    if (!this.#isBroken) await this.#orBreak(async () => settle?.(isComplete, this.#saved));
    if (refusal) throw refusal.reason;
  }

  #ended(): EndedOutput {
    const { written: out } = this.#parts.records.sink;
    return {
      saved: this.#saved,
      out,
      errors: this.#errorSink?.written,
      firstRow: Buffer.byteLength(this.#records.begin()),
      rowsEnd: this.#rowsEnd,
      memory: this.#parts.memory?.log,
    };
  }

  async #orBreak(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
  }

  async #end(isComplete: boolean): Promise<void> {
    const { old, records } = this.#parts;
    const rest = isComplete ? old?.rest() : undefined;
    if (rest) this.#records.addOld(rest);
    await this.#flush();
    this.#rowsEnd = records.sink.written.text;
    await records.sink.write(this.#records.end());
    if (this.#errorSink) await this.#errorSink.write(this.#errors.end());
    await this.#sync();
  }

  /** Takes the text and the counts before the first await: records that come during the writes belong to the next checkpoint. */
  async #flush(): Promise<void> {
    const { records, errors, from, credits, old } = this.#parts;
    const spent = this.#parts.spent?.();
    const notes = this.#parts.notes?.();
    const begin = this.#hasBegun ? '' : this.#records.begin();
    const pieces = this.#records.take();
    this.#hasBegun = true;
    const opensErrors = !this.#errorSink && (errors.isBegun || this.#counts.failed > from.failed);
    const errorBegin = opensErrors && !errors.isBegun ? this.#errors.begin() : '';
    const errorPieces = this.#errors.take();
    const reached = {
      ...this.#progress.reached(),
      ...this.#counts,
      credits: credits(),
      ...spent,
      ...(notes && { notes }),
      ...(old && { copied: old.copied }),
    };
    if (opensErrors) this.#errorSink = await this.#openErrors();
    if (this.#errorSink) await writeAll(this.#errorSink, errorBegin, errorPieces);
    const marks = await writeAll(records.sink, begin, pieces);
    const log = this.#parts.memory?.log;
    await log?.add(pieces.flatMap((piece) => (isPlace(piece) && piece.side === 'end' ? [piece.entry] : [])));
    const errorsWritten = this.#errorSink && { errors: this.#errorSink.written };
    await this.#save({ ...reached, out: records.sink.written, ...errorsWritten, ...(log && { remembered: log.count }) }, marks);
  }

  /** Notes the errors file in the journal before it exists: a resumed run that finds the file then knows that it is the run's own file. */
  async #openErrors(): Promise<Sink> {
    const { journal, errors } = this.#parts;
    if (this.#saved.errors === undefined) await journal?.add({ ...this.#saved, errors: nothingWritten });
    return errors.open();
  }

  async #save(checkpoint: Checkpoint, marks: readonly Mark[]): Promise<void> {
    const { journal } = this.#parts;
    if (journal && checkpoint.records + checkpoint.beyond.length > 0 && isNew(checkpoint, this.#saved)) {
      await this.#sync();
      await journal.add(checkpoint, marks);
    }
    this.#saved = checkpoint;
  }

  async #sync(): Promise<void> {
    await Promise.all([this.#parts.records.sink.sync(), this.#errorSink?.sync(), this.#parts.memory?.log?.sync()]);
  }
}

function isNew(checkpoint: Checkpoint, before: Checkpoint): boolean {
  return (['written', 'failed', 'filtered', 'credits'] as const).some((count) => checkpoint[count] !== before[count]);
}
