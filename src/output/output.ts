import type { ColumnNames } from '../core/column-names.ts';
import type { FailureReport } from '../core/event.ts';
import { failureForm } from '../core/failure-form.ts';
import { type Item, type Outcome, type PartialRows, placeOf, type Success } from '../core/item.ts';
import type { Output } from '../core/ports.ts';
import type { Value } from '../core/value/value.ts';
import type { Redactor } from '../credentials/redact.ts';
import { errorRow } from '../records/errors-file.ts';
import type { RecordWriter } from '../records/format.ts';
import type { Mark } from './journal/failed-list.ts';
import { type Checkpoint, InputProgress, type Journal } from './journal/journal.ts';
import type { ParkedFailure, ParkedRows } from './journal/parked-records.ts';
import type { OldRows } from './old-rows.ts';
import { isPlace, RecordText, writeAll } from './record-text.ts';
import { checkRows } from './renderer.ts';
import { nothingWritten, type Sink, type Written } from './sink.ts';
import type { SpilledText, SpillFiles } from './spill.ts';
import type { RememberedRows, TruthLog } from './truth-file.ts';

export interface FileOutputParts {
  readonly records: { readonly writer: RecordWriter; readonly sink: Sink };
  readonly errors: {
    readonly writer: RecordWriter;
    /** Continues an errors file that an earlier run has begun. False for a stream, which always starts from the beginning. */
    readonly isBegun: boolean;
    /** Called when the first record fails. Appends to a file that an earlier run has begun. */
    open(): Promise<Sink>;
  };
  readonly redactor: Redactor;
  readonly names: ColumnNames;
  /** For the rows of records that are not finished. */
  readonly spillFiles: SpillFiles;
  /** Undefined for a stream, which cannot be truncated when the run is resumed. */
  readonly journal: Journal | undefined;
  readonly from: Checkpoint;
  credits(): number;
  /** The money and the tokens that the nodes have spent so far, and the paths that they have found. */
  byNode?(): Pick<Checkpoint, 'costs' | 'tokens' | 'nextPaths'>;
  /** The server's own counts for each checkpoint. Undefined if the run was started by a command. */
  notes?: () => object;
  readonly old?: OldRows;
  readonly memory?: OutputMemory;
  /** The failures of an unfinished record that `on_error: keep` has passed through. */
  passedFailures?(record: number): readonly FailureReport[];
  /** Receives each finished record of a pilot. The output then writes no record: all are parked, as they are not in order. */
  readonly pilot?: (item: Item, outcome: Outcome) => void;
  /** Completes the journal, moves the closed files to their final paths and deletes the journal. Undefined for a stream. */
  readonly publish?: (ended: EndedOutput) => Promise<void>;
  /** Moves the files of a run without a journal to their final paths, even if it is not complete. Undefined for a stream. */
  readonly settle?: (isComplete: boolean, saved: Checkpoint) => Promise<void>;
}

export interface OutputMemory {
  readonly log: TruthLog | undefined;
  /** The positions are set when the rows are written. Undefined if the next run must process the record again. */
  rememberedAs(item: Item, rows: number): RememberedRows | undefined;
  close(): void;
}

/** The results of a complete run, after its files have been closed. */
export interface EndedOutput {
  readonly saved: Checkpoint;
  readonly out: Written;
  readonly errors?: Written;
  /** In bytes of text. `rowsEnd` is the position after the last row. */
  readonly firstRow: number;
  readonly rowsEnd: number;
  readonly memory?: TruthLog;
}

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
 * Rows go to one file and failed records to another, with secrets masked in both. Each flush writes and syncs both files, then adds a
 * checkpoint with their lengths to the journal.
 */
export class FileOutput implements Output {
  readonly #parts: FileOutputParts;
  readonly #progress: InputProgress;
  readonly #records: RecordText;
  readonly #errors: RecordText;
  readonly #counts: { written: number; failed: number; filtered?: number; unchanged?: number; rows: number };
  /** Finished records that wait for an earlier record and are not in the journal yet, keyed by their position in the input. */
  readonly #parked = new Map<number, ParkedRows | ParkedFailure>();
  #errorSink: Sink | undefined;
  #saved: Checkpoint;
  #hasBegun: boolean;
  #isBroken = false;
  /** In bytes of text. */
  #rowsEnd = 0;

  constructor(parts: FileOutputParts) {
    const { records, errors, redactor, names, from, old } = parts;
    this.#parts = parts;
    this.#progress = new InputProgress(from);
    this.#records = new RecordText(records.writer, from.rows > 0 || (old?.hasRows ?? false), redactor, names);
    this.#errors = new RecordText(errors.writer, errors.isBegun, redactor, names);
    const { written, failed, filtered, unchanged, rows } = from;
    this.#counts = { written, failed, filtered, unchanged, rows };
    this.#saved = from;
    this.#hasBegun = from.out.bytes > 0 || old !== undefined;
  }

  partialRows(): PartialRows {
    return this.#records.partialRows(this.#parts.spillFiles.newText('unfinished'));
  }

  /** Long content moves to a temporary file. */
  newText(): SpilledText {
    return this.#parts.spillFiles.newText();
  }

  put(item: Item, outcome: Outcome, isFiltered = false): Outcome {
    const { records, errors, journal, old, pilot } = this.#parts;
    const checked = checkRows(outcome, records.writer);
    if (pilot) {
      pilot(item, checked);
      this.#parkAll(item, checked);
      return checked;
    }
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
      if (item.unchanged) this.#counts.unchanged = (this.#counts.unchanged ?? 0) + 1;
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
    if (!item.parked) this.#parked.set(placeOf(item), this.#parkedRows(item, outcome));
    return true;
  }

  #parkAll(item: Item, outcome: Outcome): void {
    const parked =
      'failure' in outcome ? { failure: failureForm(outcome.failure, item.fields, this.#parts.redactor) } : this.#parkedRows(item, outcome);
    this.#parked.set(placeOf(item), parked);
  }

  /** Keeps the failures that were passed through, so that the run that writes the rows counts them. */
  #parkedRows(item: Item, outcome: Success): ParkedRows {
    const { passedFailures, redactor } = this.#parts;
    const parked = this.#records.parkedRows(outcome);
    const passed = passedFailures?.(item.number) ?? [];
    if (passed.length === 0) return parked;
    const masked = redactor.value(passed.map((report) => ({ ...report })) as unknown as Value) as unknown as readonly FailureReport[];
    return { rows: parked.rows, passed: masked, texts: () => parked.texts(), drop: () => parked.drop?.() };
  }

  /** Counts a record as processed, because its rows are in the output of an earlier run. */
  skip(item: Item): void {
    this.#progress.add(item);
  }

  get waiting(): number {
    return this.#records.waiting + this.#errors.waiting;
  }

  saved(): Checkpoint {
    return this.#saved;
  }

  flush(): Promise<void> {
    return this.#orBreak(() => this.#flush());
  }

  /** Writes the end of each file; after an earlier write error, only closes them. `isComplete`: nothing is left for a resumed run. */
  async close(isComplete: boolean): Promise<void> {
    const { records, journal, old, publish, settle } = this.#parts;
    if (!this.#isBroken) await this.#orBreak(() => this.#end(isComplete));
    if (!isComplete && !this.#isBroken) await this.#writeParked();
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

  /** Takes the text and the counts before the first await, so that records that arrive during the write belong to the next checkpoint. */
  async #flush(): Promise<void> {
    const { records, errors, from, credits, old } = this.#parts;
    const byNode = this.#parts.byNode?.();
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
      ...byNode,
      notes,
      copied: old?.copied,
    };
    if (this.#parts.pilot) await this.#writeParked();
    if (opensErrors) this.#errorSink = await this.#openErrors();
    if (this.#errorSink) await writeAll(this.#errorSink, errorBegin, errorPieces);
    const marks = await writeAll(records.sink, begin, pieces);
    const log = this.#parts.memory?.log;
    await log?.add(pieces.flatMap((piece) => (isPlace(piece) && piece.side === 'end' ? [piece.entry] : [])));
    const errorsWritten = this.#errorSink && { errors: this.#errorSink.written };
    await this.#save({ ...reached, out: records.sink.written, ...errorsWritten, remembered: log?.count }, marks);
  }

  async #writeParked(): Promise<void> {
    if (this.#parked.size === 0) return;
    const parked = new Map(this.#parked);
    this.#parked.clear();
    await this.#parts.journal?.park(parked);
    for (const rows of parked.values()) if (!('failure' in rows)) rows.drop?.();
  }

  /** Saves the path in the journal before creating the file. If a resumed run finds the file, it then knows that the file belongs to it. */
  async #openErrors(): Promise<Sink> {
    const { journal, errors } = this.#parts;
    if (this.#saved.errors === undefined) await journal?.add({ ...this.#saved, errors: nothingWritten });
    return errors.open();
  }

  async #save(checkpoint: Checkpoint, marks: readonly Mark[]): Promise<void> {
    const { journal } = this.#parts;
    if (journal && isNew(checkpoint, this.#saved)) {
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
  const spent = ({ costs, tokens }: Checkpoint) => JSON.stringify([costs, tokens]);
  return (
    (['written', 'failed', 'filtered', 'credits'] as const).some((count) => checkpoint[count] !== before[count]) ||
    spent(checkpoint) !== spent(before)
  );
}
