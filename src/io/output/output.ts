import type { Failure } from '../../core/failure.ts';
import type { Item, Outcome } from '../../core/item.ts';
import type { Output } from '../../core/ports.ts';
import { type Fields, withFields } from '../../core/record.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import type { Checkpoint, Journal } from '../journal/journal.ts';
import type { ParkedRows } from '../journal/parked-records.ts';
import { createInputProgress } from '../journal/progress.ts';
import { errorFields, otherFields } from '../records/errors.ts';
import { isTableWriter } from '../records/writers/csv-writer.ts';
import type { RecordWriter } from '../records/writers/writer.ts';
import type { Redactor } from '../secrets/redact.ts';
import { createRecordText, writeAll } from './record-text.ts';
import type { Sink } from './sink.ts';
import type { SpillFiles } from './spill.ts';

/** What an output is made of. */
export interface OutputTools {
  readonly records: { readonly writer: RecordWriter; readonly sink: Sink };
  readonly errors: {
    readonly writer: RecordWriter;
    /** Whether an earlier run left a file to go on with: a stream begins anew. */
    readonly isBegun: boolean;
    /** Opens the errors file, with the first failure or where an earlier run left it. */
    open(): Promise<Sink>;
  };
  readonly redactor: Redactor;
  /** Where records wait that come before their turn. */
  readonly parts: SpillFiles;
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
  const records = createRecordText(tools.records.writer, from.rows > 0, tools.redactor);
  const errors = createRecordText(tools.errors.writer, tools.errors.isBegun, tools.redactor);
  const counts = { written: from.written, failed: from.failed, rows: from.rows };
  /** What had come to its end when the run stopped, and is not in the journal yet. */
  const kept = new Map<number, ParkedRows>();
  let errorSink: Sink | undefined;
  let saved = from;
  let hasBegun = from.out.bytes > 0;
  let isBroken = false;

  return {
    partialRows: () => records.part(tools.parts.part()),
    park(item, outcome) {
      if (!journal || 'failure' in refused(outcome, tools.records.writer)) return false;
      if (!item.parked) kept.set(item.number, records.kept(outcome));
      return true;
    },
    put(item, outcome) {
      const checked = refused(outcome, tools.records.writer);
      if ('failure' in checked) errors.add([errorRow(item, checked.failure)]);
      else if ('spilled' in checked) records.addPart(checked.spilled);
      else records.add(checked.rows);
      if (!('failure' in checked)) counts.rows += 'spilled' in checked ? checked.spilled.rows : checked.rows.length;
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
      if (!isComplete && !isBroken && kept.size > 0) await journal?.keep(kept);
      const closed = await Promise.allSettled([tools.records.sink.close(), errorSink?.close()]);
      const refusal = closed.find((result) => result.status === 'rejected');
      isBroken ||= refusal !== undefined;
      await (isComplete && !isBroken ? journal?.remove() : journal?.close());
      if (refusal) throw refusal.reason;
    },
  };

  /** A failed record always fits: there is no other place left for it. */
  function errorRow(item: Item, failure: Failure): Fields {
    const { writer } = tools.errors;
    if (!isTableWriter(writer)) return withFields(item.fields, errorFields(item, failure, false));
    return withFields(inColumns(item.fields, writer.columns), errorFields(item, failure, true));
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
    const isErrorsDue = !errorSink && (tools.errors.isBegun || counts.failed > from.failed);
    const errorBegin = isErrorsDue && !tools.errors.isBegun ? errors.begin() : '';
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
    if (isErrorsDue) errorSink = await openErrors();
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

/** The fields that have a column and can stand in it, and all others as JSON in one: read again as another text, they would be sent so. */
function inColumns(fields: Fields, columns: readonly string[]): Fields {
  const known = new Set(columns);
  const fits = ([name, value]: readonly [string, Value]) => known.has(name) && (typeof value !== 'string' || value.isWellFormed());
  const others = [...fields].filter((field) => !fits(field));
  if (others.length === 0) return fields;
  return new Map([...[...fields].filter(fits), [otherFields, jsonOf(Object.fromEntries(others))]]);
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
