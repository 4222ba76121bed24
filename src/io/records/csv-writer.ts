import { stringify } from 'csv-stringify/sync';
import { Failure } from '../../core/failure.ts';
import type { Fields } from '../../core/record.ts';
import { textOf, type Value } from '../../core/value.ts';
import type { RecordWriter } from './record-writer.ts';

interface CsvWriterOptions {
  readonly delimiter: string;
  readonly csvSafe: boolean;
}

/** Writes CSV (RFC 4180) with a header, lines ended by LF. A field that a record lacks is an empty cell. */
export function createCsvWriter(columns: readonly string[], { delimiter, csvSafe }: CsvWriterOptions): RecordWriter {
  const known = new Set(columns);
  const cellOf = csvSafe ? safeCell : cell;
  const options = {
    delimiter,
    // A line with nothing in it would be no row.
    quoted_empty: columns.length === 1,
    // At the start of a file it would be taken for a byte order mark.
    quoted_match: '\ufeff',
  };
  return { begin, write, end: () => '', refusal };

  function begin(): string {
    return columns.length === 0 ? '' : stringify([columns.map(cellOf)], options);
  }

  function write(rows: readonly Fields[]): string {
    return stringify(
      rows.map((fields) => columns.map((name) => cellOf(fields.get(name)))),
      options,
    );
  }

  function refusal(fields: Fields): Failure | undefined {
    for (const name of fields.keys()) {
      if (!known.has(name))
        return new Failure(
          'output',
          `the record has a field "${name}" that the output's columns lack\nwrite NDJSON, or name the field in the flow`,
        );
    }
    return undefined;
  }
}

function cell(value: Value | undefined): string {
  return value === undefined ? '' : textOf(value);
}

/** Spreadsheets run what begins like this (owasp.org/www-community/attacks/CSV_Injection). A number is no text. */
function safeCell(value: Value | undefined): string {
  return typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : cell(value);
}
