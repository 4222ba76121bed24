import type { ColumnNames } from '../core/column-names.ts';
import type { Outcome, SpilledRows } from '../core/item.ts';
import type { Fields } from '../core/record.ts';
import type { Redactor } from '../credentials/redact.ts';
import { isTableWriter } from '../records/csv-writer.ts';
import type { RecordWriter } from '../records/format.ts';
import type { ParkedRows } from './journal/parked-records.ts';

export const maxRendered = 256;

/** Rows as text in the output's format, which may have been moved to disk. */
export type SpilledPiece = Pick<ParkedRows, 'texts'> & Pick<SpilledRows, 'drop'>;

/** Masks every secret in the rows, and puts back the columns' own names. */
export class Renderer {
  readonly writer: RecordWriter;
  readonly #redactor: Redactor;
  readonly #names: ColumnNames;

  constructor(writer: RecordWriter, redactor: Redactor, names: ColumnNames) {
    this.writer = writer;
    this.#redactor = redactor;
    this.#names = names;
  }

  begin(): string {
    const { writer } = this;
    return isTableWriter(writer) ? writer.header(this.#redactor.names(this.#names.allInFile(writer.columns))) : writer.begin();
  }

  /** Returns several strings if a single one would exceed JavaScript's maximum length. */
  texts(rows: readonly Fields[], isFirst: boolean): string[] {
    if (rows.length <= maxRendered) {
      try {
        return [this.#render(rows, isFirst)];
      } catch (error) {
        if (!(error instanceof RangeError) || rows.length === 1) throw error;
      }
    }
    const middle = Math.ceil(rows.length / 2);
    return [...this.texts(rows.slice(0, middle), isFirst), ...this.texts(rows.slice(middle), false)];
  }

  /** Leaves out the separator before the first rows of the file. */
  asFirst(rows: SpilledPiece): SpilledPiece {
    const { between } = this.writer;
    return {
      drop: () => rows.drop(),
      async *texts() {
        let { length } = between;
        for await (const text of rows.texts()) {
          yield text.slice(length);
          length = 0;
        }
      },
    };
  }

  #render(given: readonly Fields[], isFirst: boolean): string {
    // In a table, only the header has names.
    const isNamed = this.#names.isEmpty || isTableWriter(this.writer);
    const rows = isNamed ? given : given.map((row) => this.#names.fieldsInFile(row));
    const text = this.writer.write(rows, isFirst);
    if (!this.#redactor.mayBeWrittenIn(text)) return text;
    return this.writer.write(
      rows.map((row) => this.#mask(row)),
      isFirst,
    );
  }

  #mask(row: Fields): Fields {
    const names = [...row.keys()];
    // In a table, a field's name determines its column, so the names in a row are not masked.
    const masked = isTableWriter(this.writer) ? names : this.#redactor.names(names);
    return new Map([...row.values()].map((value, index) => [masked[index] as string, this.#redactor.value(value)]));
  }
}

/** If the output's format cannot represent a row, the whole record fails. */
export function checkRows(outcome: Outcome, writer: RecordWriter): Outcome {
  if (!('rows' in outcome)) return outcome;
  for (const row of outcome.rows) {
    const failure = writer.misfit(row);
    if (failure) return { failure };
  }
  return outcome;
}
