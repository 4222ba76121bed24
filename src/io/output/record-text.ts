import type { PartialRows, SpilledRows, Success } from '../../core/item.ts';
import type { Fields } from '../../core/record.ts';
import type { ParkedRows } from '../journal/parked-records.ts';
import { isTableWriter } from '../records/writers/csv-writer.ts';
import type { RecordWriter } from '../records/writers/record-writer.ts';
import type { Redactor } from '../secrets/redact.ts';
import type { Sink } from './sink.ts';
import type { SpilledText } from './spill.ts';

/** So many records are turned into text together. */
const chunk = 256;

/** What is to be written: text, or a part that has kept it. */
export type Piece = string | Pick<KeptPart, 'texts' | 'drop'>;

/** Texts of parts that are shorter are written together. */
const longEnough = 64 * 1024;

/** Texts are joined up to here: what comes at once from behind a slow record may be longer than a string can be. */
const mostJoined = 1024 * 1024;

/** Writes pieces in their order, and forgets the parts. */
export async function writeAll(sink: Sink, begin: string, pieces: readonly Piece[]): Promise<void> {
  let text = begin;
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      if (text.length + piece.length > mostJoined) {
        await sink.write(text);
        text = '';
      }
      text += piece;
    } else {
      for await (const kept of piece.texts()) {
        text += kept;
        if (text.length < longEnough) continue;
        await sink.write(text);
        text = '';
      }
      piece.drop();
    }
  }
  await sink.write(text);
}

/** Records that wait to be written, as text. */
export interface RecordText {
  begin(): string;
  add(rows: readonly Fields[]): void;
  /** A part whose text is kept. */
  part(kept: SpilledText): PartialRows;
  addPart(part: SpilledRows): void;
  /** What came of a record, as text that waits for a later run. */
  kept(outcome: Success): ParkedRows;
  /** Characters waiting, roughly. */
  waiting(): number;
  take(): Piece[];
  end(): string;
}

interface KeptPart extends SpilledRows, ParkedRows {}

/** Makes records into text, with every secret masked. `hasRecords`: there are some before these. */
export function createRecordText(writer: RecordWriter, hasRecords: boolean, redactor: Redactor): RecordText {
  let rows: Fields[] = [];
  let pieces: Piece[] = [];
  let text = '';
  /** Characters in pieces. */
  let aside = 0;
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
      putAside();
      pieces.push(isFirst ? asFirst(part as KeptPart) : (part as KeptPart));
      isFirst = false;
      return undefined;
    },
    kept(outcome) {
      if ('spilled' in outcome) return outcome.spilled as KeptPart;
      const { rows } = outcome;
      return {
        rows: rows.length,
        async *texts() {
          yield* textsOf(rows, false);
        },
      };
    },
    waiting: () => aside + text.length,
    take() {
      turnIntoText();
      putAside();
      const taken = pieces;
      pieces = [];
      aside = 0;
      return taken;
    },
    end: () => writer.end(!isFirst),
  };

  function turnIntoText(): void {
    if (rows.length === 0) return;
    for (const more of textsOf(rows, isFirst)) {
      if (text.length + more.length > mostJoined) putAside();
      text += more;
    }
    isFirst = false;
    rows = [];
  }

  function putAside(): void {
    pieces.push(text);
    aside += text.length;
    text = '';
  }

  /** As many texts as it takes: all of them together may be longer than a string can be. */
  function textsOf(rows: readonly Fields[], isFirst: boolean): string[] {
    if (rows.length <= chunk) {
      try {
        return [textOf(rows, isFirst)];
      } catch (error) {
        if (!(error instanceof RangeError) || rows.length === 1) throw error;
      }
    }
    const middle = Math.ceil(rows.length / 2);
    return [...textsOf(rows.slice(0, middle), isFirst), ...textsOf(rows.slice(middle), false)];
  }

  function textOf(rows: readonly Fields[], isFirst: boolean): string {
    const written = writer.write(rows, isFirst);
    return redactor.mayBeWrittenIn(written) ? writer.write(rows.map(masked), isFirst) : written;
  }

  function part(kept: SpilledText): PartialRows & KeptPart {
    let count = 0;
    return {
      get rows() {
        return count;
      },
      async add(added) {
        for (const row of added) {
          const failure = writer.refusal(row);
          if (failure) throw failure;
        }
        count += added.length;
        for (const text of textsOf(added, false)) await kept.add(text);
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
