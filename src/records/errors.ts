import type { ErrorFacts } from '../core/error-code.ts';
import { Failure } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { type Fields, withFields } from '../core/record.ts';
import { jsonOf, type Value } from '../core/value/value.ts';
import { escapeSurrogates, isTableWriter } from './csv-writer.ts';
import type { RecordWriter } from './format.ts';

/** The columns that an errors file has in addition to the records' own columns. */
export const errorColumns = ['_error_node', '_error_class', '_error_status', '_error_message', '_error_attempts', '_error_record'] as const;

/**
 * The column of an errors file for fields that fit no other column. It contains these fields as JSON. A field does not fit if there is no
 * column for it or if its text contains a lone surrogate.
 */
export const otherFields = '_error_fields';

/** Maximum number of characters of the message about an unreadable record that are shown. */
const maxShown = 600;

/**
 * The failure of an input record that could not be read. Its message is shortened for display. The complete message is in `whole`, which
 * goes into the errors file.
 */
export class Unreadable extends Failure {
  constructor(
    readonly whole: string,
    facts?: ErrorFacts,
  ) {
    const isShort = whole.length <= maxShown;
    super('input', isShort ? whole : `${whole.slice(0, maxShown).toWellFormed()}...`, { sent: false, ...facts });
  }

  /** Returns the same failure with the name of the input file added to the message. */
  inFile(name: string): Unreadable {
    const { code, details } = this;
    return new Unreadable(`${name}: ${this.whole}`, code === undefined ? undefined : ({ code, details } as ErrorFacts));
  }
}

/** Returns a failed record's row in the errors file, which contains the record's fields and its error. */
export function errorRow(item: Item, failure: Failure, writer: RecordWriter): Fields {
  const fields = failure.masked ? withFields(item.fields, failure.masked) : item.fields;
  if (!isTableWriter(writer)) return withFields(fields, errorFields(item, failure, false));
  return withFields(fitColumns(fields, writer.columns), errorFields(item, failure, true));
}

/**
 * Moves fields that have no column, or whose text contains a lone surrogate, into the column `_error_fields` as JSON. In a column of plain
 * text, their values would be lost or changed.
 */
function fitColumns(fields: Fields, columns: readonly string[]): Fields {
  const columnSet = new Set(columns);
  const fits = ([name, value]: readonly [string, Value]) => columnSet.has(name) && (typeof value !== 'string' || value.isWellFormed());
  const others = [...fields].filter((field) => !fits(field));
  if (others.length === 0) return fields;
  return new Map([...[...fields].filter(fits), [otherFields, jsonOf(Object.fromEntries(others))]]);
}

/**
 * Returns the error of a failed record as fields. For a table, these are the columns in `errorColumns`. For other formats, there is one
 * field `_error` that contains an object.
 */
export function errorFields(item: Item, failure: Failure, asColumns: boolean): [string, Value][] {
  const { node, kind, status, attempts } = failure;
  const shown = asColumns ? onOneLine(failure.message) : failure.message;
  const message = failure instanceof Unreadable ? failure.whole : shown;
  const values: Value[] = [node ?? null, kind, status ?? null, asColumns ? escapeSurrogates(message) : message, attempts, item.number];
  if (asColumns) return errorColumns.map((name, index) => [name, values[index] as Value]);
  const error = Object.fromEntries(errorColumns.map((name, index) => [name.replace('_error_', ''), values[index] as Value]));
  return [['_error', error]];
}

/** Joins the lines of an error message into one line. The first line is usually the reason, and the other lines are advice. */
export function onOneLine(message: string): string {
  return message.trim().replace(/([,.:;!?]?)\s*[\r\n]+\s*/g, (_, end: string) => (end === '' ? '; ' : `${end} `));
}

const stillUnreadable = 'could not be read in an earlier run (correct it, and clear its error class): ';

/**
 * Checks whether a record from an errors file must not be sent again. If so, returns its failure; otherwise undefined. Such a record is
 * incomplete, because an earlier run could not read it or because it has fields without a column (`others`).
 */
export function unreadableBefore(errorClass: unknown, message: unknown, others?: unknown): Failure | undefined {
  if (others) return new Unreadable(`had fields without a column (give them columns, and clear ${otherFields}): ${others}`);
  if (errorClass !== 'input') return undefined;
  return new Unreadable(stillUnreadable + String(message ?? '').replace(stillUnreadable, ''));
}

/**
 * Returns the number that a record had in the run in which it failed, as `failedAs`. `number` is read from the errors file. If it is not a
 * valid number, returns an empty object.
 */
export function failedAs(number: unknown): Pick<Item, 'failedAs'> {
  const text = String(number ?? '').trim();
  return /^[1-9]\d{0,14}$/.test(text) ? { failedAs: Number(text) } : {};
}
