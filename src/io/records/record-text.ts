import type { Part } from '../../core/item.ts';
import type { Fields } from '../../core/record.ts';
import type { Redactor } from '../redact.ts';
import { isTableWriter } from './csv-writer.ts';
import type { TextPart } from './part.ts';
import type { RecordWriter } from './record-writer.ts';
import type { Sink } from './sink.ts';

/** So many records are turned into text together. */
const chunk = 256;

/** What is to be written: text, or a part that has kept it. */
export type Piece = string | Pick<KeptPart, 'texts' | 'drop'>;

/** Texts of parts that are shorter are written together. */
const longEnough = 64 * 1024;

/** Writes pieces in their order, and forgets the parts. */
export async function writeAll(sink: Sink, begin: string, pieces: readonly Piece[]): Promise<void> {
  let text = begin;
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else {
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
  part(kept: TextPart): Part;
  addPart(part: Part): void;
  /** Characters waiting, roughly. */
  waiting(): number;
  take(): Piece[];
  end(): string;
}

interface KeptPart extends Part, Pick<TextPart, 'texts'> {}

/** Makes records into text, with every secret masked. `hasRecords`: there are some before these. */
export function createRecordText(writer: RecordWriter, hasRecords: boolean, redactor: Redactor): RecordText {
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
