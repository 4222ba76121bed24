import { AutomateError, type Failure } from '../../core/failure.ts';
import type { Item, Outcome, Part } from '../../core/item.ts';
import type { Output } from '../../core/ports.ts';
import { type Fields, withFields } from '../../core/record.ts';
import type { Checkpoint, Journal } from '../journal.ts';
import type { Redactor } from '../redact.ts';
import { isTableWriter } from './csv-writer.ts';
import { errorFields } from './errors.ts';
import type { TextPart, TextParts } from './part.ts';
import { createInputProgress } from './progress.ts';
import type { Sink } from './sink.ts';
import type { RecordWriter } from './writer.ts';

/** What an output is made of. */
export interface OutputTools {
  readonly records: { readonly writer: RecordWriter; readonly sink: Sink };
  readonly errors: {
    readonly writer: RecordWriter;
    /** Opens the errors file, with the first failure or where an earlier run left it. */
    open(): Promise<Sink>;
    /** Whether a failure is told in columns of its own, or in one object. */
    readonly asColumns: boolean;
  };
  readonly redactor: Redactor;
  /** Where records wait that come before their turn. */
  readonly parts: TextParts;
  /** Absent for a stream, in which nothing can be cut off. */
  readonly journal: Journal | undefined;
  /** Where the run begins: the beginning, or the checkpoint that it goes on from. */
  readonly from: Checkpoint;
  credits(): number;
}

/** An output with its end. */
export interface FileOutput extends Output {
  /** A record that an earlier run has done already. */
  known(item: Item): void;
  /** Writes what ends the files, and closes them. `isComplete`: there is nothing left to resume. Behind a write that failed nothing is written any more. */
  close(isComplete: boolean): Promise<void>;
  /** How far the run is on disk. */
  saved(): Checkpoint;
}

/** A run that has done nothing yet. */
export const untouched: Checkpoint = {
  records: 0,
  beyond: [],
  offset: 0,
  line: 0,
  out: { bytes: 0, crc: 0 },
  written: 0,
  failed: 0,
  rows: 0,
  credits: 0,
};

/**
 * Makes the output of a run: records to one place, failed records to another, secrets to none.
 * A flush is a checkpoint: both files are written and synced, then one line of the journal says how far they are.
 */
export function createOutput(tools: OutputTools): FileOutput {
  const { from, journal } = tools;
  const progress = createInputProgress(from);
  const records = createText(tools.records.writer, from.rows > 0, tools.redactor);
  const errors = createText(tools.errors.writer, from.failed > 0, tools.redactor);
  const counts = { written: from.written, failed: from.failed, rows: from.rows };
  let errorSink: Sink | undefined;
  let saved = from;
  let hasBegun = from.out.bytes > 0;
  let isBroken = false;

  return {
    part: () => records.part(tools.parts.part()),
    put(item, outcome) {
      const checked = refused(outcome, tools.records.writer);
      if ('failure' in checked) errors.add([errorRow(item, checked.failure)]);
      else if ('part' in checked) records.addPart(checked.part);
      else records.add(checked.rows);
      if (!('failure' in checked)) counts.rows += 'part' in checked ? checked.part.rows : checked.rows.length;
      counts['failure' in checked ? 'failed' : 'written']++;
      progress.done(item);
      return checked;
    },
    known: progress.done,
    get waiting() {
      return records.waiting() + errors.waiting();
    },
    flush: () => whole(flush),
    saved: () => saved,
    async close(isComplete) {
      if (!isBroken) await whole(end);
      const closed = await Promise.allSettled([tools.records.sink.close(), errorSink?.close()]);
      const refusal = closed.find((result) => result.status === 'rejected');
      isBroken ||= refusal !== undefined;
      await (isComplete && !isBroken ? journal?.remove() : journal?.close());
      if (refusal) throw refusal.reason;
    },
  };

  /** Throws an AutomateError when a failed record does not fit: there is no other place left for it. */
  function errorRow(item: Item, failure: Failure): Fields {
    const row = withFields(item.fields, errorFields(item, failure, tools.errors.asColumns));
    const misfit = tools.errors.writer.refusal(row);
    if (misfit) throw new AutomateError('output', `a failed record does not fit into the errors file: ${misfit.message}`);
    return row;
  }

  async function whole(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      isBroken = true;
      throw error;
    }
  }

  async function end(): Promise<void> {
    await flush();
    await tools.records.sink.write(records.end());
    if (errorSink) await errorSink.write(errors.end());
    await sync();
  }

  /** What is taken is taken at once: records that come while it is being written belong to the next checkpoint. */
  async function flush(): Promise<void> {
    const begin = hasBegun ? '' : records.begin();
    const pieces = records.take();
    hasBegun = true;
    const isFirstFailure = counts.failed > 0 && !errorSink;
    const errorBegin = isFirstFailure && from.failed === 0 ? errors.begin() : '';
    const errorPieces = errors.take();
    const { written, failed, rows } = counts;
    const reached = {
      records: progress.records,
      beyond: progress.beyond(),
      ...progress.end,
      written,
      failed,
      rows,
      credits: tools.credits(),
    };
    if (isFirstFailure) errorSink = await openErrors();
    if (errorSink) await writeAll(errorSink, errorBegin, errorPieces);
    await writeAll(tools.records.sink, begin, pieces);
    await save({ ...reached, out: tools.records.sink.written, ...(errorSink ? { errors: errorSink.written } : {}) });
  }

  /** The journal knows of the errors file before it is there: found later, it is this run's and nobody else's. */
  async function openErrors(): Promise<Sink> {
    if (saved.errors === undefined) await journal?.add({ ...saved, errors: { bytes: 0, crc: 0 } });
    return tools.errors.open();
  }

  async function save(checkpoint: Checkpoint): Promise<void> {
    if (journal && checkpoint.records + checkpoint.beyond.length > 0 && isNews(checkpoint, saved)) {
      await sync();
      await journal.add(checkpoint);
    }
    saved = checkpoint;
  }

  async function sync(): Promise<void> {
    await Promise.all([tools.records.sink.sync(), errorSink?.sync()]);
  }
}

/** Whether a checkpoint tells more than the one before. */
function isNews(checkpoint: Checkpoint, before: Checkpoint): boolean {
  return checkpoint.written !== before.written || checkpoint.failed !== before.failed || checkpoint.credits !== before.credits;
}

/** A record is written whole or not at all. */
function refused(outcome: Outcome, writer: RecordWriter): Outcome {
  if (!('rows' in outcome)) return outcome;
  for (const row of outcome.rows) {
    const failure = writer.refusal(row);
    if (failure) return { failure };
  }
  return outcome;
}

/** So many records are turned into text together. */
const chunk = 128;

/** What is to be written: text, or a part that has kept it. */
type Piece = string | Pick<KeptPart, 'texts' | 'drop'>;

async function writeAll(sink: Sink, begin: string, pieces: readonly Piece[]): Promise<void> {
  let text = begin;
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else {
      for await (const kept of piece.texts()) {
        text += kept;
        if (text.length < shortest) continue;
        await sink.write(text);
        text = '';
      }
      piece.drop();
    }
  }
  await sink.write(text);
}

/** Shorter texts of parts are written together. */
const shortest = 64 * 1024;

interface Text {
  begin(): string;
  add(rows: readonly Fields[]): void;
  /** A part whose text is kept. */
  part(kept: TextPart): Part;
  addPart(part: Part): void;
  /** Characters waiting, roughly. */
  waiting(): number;
  take(): Piece[];
  end(): string;
}

interface KeptPart extends Part, Pick<TextPart, 'texts'> {}

/** Records as text, with every secret masked. */
function createText(writer: RecordWriter, hasRecords: boolean, redactor: Redactor): Text {
  let rows: Fields[] = [];
  let pieces: Piece[] = [];
  let text = '';
  let isFirst = !hasRecords;
  const table = isTableWriter(writer) ? writer : undefined;
  return {
    begin: () => (table ? table.beginAs(redactor.names(table.columns)) : writer.begin()),
    add(added) {
      for (const row of added) rows.push(row);
      if (rows.length >= chunk) turnIntoText();
    },
    part,
    addPart(part) {
      turnIntoText();
      if (part.rows === 0) return part.drop();
      pieces.push(text, isFirst ? asFirst(part as KeptPart) : (part as KeptPart));
      text = '';
      isFirst = false;
      return undefined;
    },
    waiting: () => text.length,
    take() {
      turnIntoText();
      const taken = [...pieces, text];
      pieces = [];
      text = '';
      return taken;
    },
    end: () => writer.end(!isFirst),
  };

  function turnIntoText(): void {
    if (rows.length === 0) return;
    text += textOf(rows, isFirst);
    isFirst = false;
    rows = [];
  }

  function textOf(rows: readonly Fields[], isFirst: boolean): string {
    const written = writer.write(rows, isFirst);
    return redactor.isIn(written) ? writer.write(rows.map(masked), isFirst) : written;
  }

  function part(kept: TextPart): KeptPart {
    let count = 0;
    return {
      get rows() {
        return count;
      },
      async add(added) {
        if (added.length === 0) return;
        for (const row of added) {
          const failure = writer.refusal(row);
          if (failure) throw failure;
        }
        count += added.length;
        await kept.add(textOf(added, false));
      },
      texts: kept.texts,
      drop: kept.drop,
    };
  }

  /** Nothing stands in front of the first record. */
  function asFirst(part: KeptPart): Pick<KeptPart, 'texts' | 'drop'> {
    return {
      drop: part.drop,
      async *texts() {
        let { length } = writer.between;
        for await (const text of part.texts()) {
          yield text.slice(length);
          length = 0;
        }
      },
    };
  }

  function masked(row: Fields): Fields {
    const names = [...row.keys()];
    // A table finds its columns by the names as they are.
    const written = table ? names : redactor.names(names);
    return new Map([...row.values()].map((value, index) => [written[index] as string, redactor.value(value)]));
  }
}
