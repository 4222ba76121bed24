import type { ErrorFacts } from '../../core/error-code.ts';
import { Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import { type Fields, withFields } from '../../core/record.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { escapeSurrogates, isTableWriter } from './writers/csv-writer.ts';
import type { RecordWriter } from './writers/record-writer.ts';

/** The columns that an errors file adds to a record's own. */
export const errorColumns = ['_error_node', '_error_class', '_error_status', '_error_message', '_error_attempts', '_error_record'] as const;

/** The errors file's column for the fields of a JSON record that have no column, or do not fit into it, as JSON. */
export const otherFields = '_error_fields';

/** Maximum length of the shown message about an unreadable record, in characters. */
const maxShown = 600;

/** The failure of a record that could not be read. Its message is shown, so it is short; `whole` is the complete message, for the errors file. */
export class Unreadable extends Failure {
  constructor(
    readonly whole: string,
    facts?: ErrorFacts,
  ) {
    const isShort = whole.length <= maxShown;
    super('input', isShort ? whole : `${whole.slice(0, maxShown).toWellFormed()}...`, { sent: false, ...facts });
  }

  /** The same failure, with the name of the file in its message. */
  inFile(name: string): Unreadable {
    const { code, details } = this;
    return new Unreadable(`${name}: ${this.whole}`, code === undefined ? undefined : ({ code, details } as ErrorFacts));
  }
}

/** The row of the errors file for a failed record. A table holds all fields of the record as well. */
export function errorRow(item: Item, failure: Failure, writer: RecordWriter): Fields {
  if (!isTableWriter(writer)) return withFields(item.fields, errorFields(item, failure, false));
  return withFields(fitColumns(item.fields, writer.columns), errorFields(item, failure, true));
}

/** Puts fields without a column, or with a broken character, into one column as JSON. As plain text, a run over the errors file would send them changed. */
function fitColumns(fields: Fields, columns: readonly string[]): Fields {
  const columnSet = new Set(columns);
  const fits = ([name, value]: readonly [string, Value]) => columnSet.has(name) && (typeof value !== 'string' || value.isWellFormed());
  const others = [...fields].filter((field) => !fits(field));
  if (others.length === 0) return fields;
  return new Map([...[...fields].filter(fits), [otherFields, jsonOf(Object.fromEntries(others))]]);
}

/** The error of a failed record: as separate columns, or as one `_error` object. */
export function errorFields(item: Item, failure: Failure, asColumns: boolean): [string, Value][] {
  const { node, kind, status, attempts } = failure;
  const shown = asColumns ? onOneLine(failure.message) : failure.message;
  const message = failure instanceof Unreadable ? failure.whole : shown;
  const values: Value[] = [node ?? null, kind, status ?? null, asColumns ? escapeSurrogates(message) : message, attempts, item.number];
  if (asColumns) return errorColumns.map((name, index) => [name, values[index] as Value]);
  const error = Object.fromEntries(errorColumns.map((name, index) => [name.replace('_error_', ''), values[index] as Value]));
  return [['_error', error]];
}

/** Joins the lines of a message: the reason, and the advice after it. */
export function onOneLine(message: string): string {
  return message.trim().replace(/([,.:;!?]?)\s*[\r\n]+\s*/g, (_, end: string) => (end === '' ? '; ' : `${end} `));
}

const stillUnreadable = 'could not be read in an earlier run (correct it, and empty its error class): ';

/**
 * The failure of a record in an errors file that must not be sent: an earlier run could not read it, so its fields are incomplete,
 * or it has fields without a column (`others`). Undefined for a record that failed at a node.
 */
export function unreadableBefore(errorClass: unknown, message: unknown, others?: unknown): Failure | undefined {
  if (others) return new Unreadable(`had fields without a column (give them columns, and empty ${otherFields}): ${others}`);
  if (errorClass !== 'input') return undefined;
  return new Unreadable(stillUnreadable + String(message ?? '').replace(stillUnreadable, ''));
}

/** The record number in an errors file, as `failedAs`; empty if the text is not a number. */
export function failedAs(number: unknown): Pick<Item, 'failedAs'> {
  const text = String(number ?? '').trim();
  return /^[1-9]\d{0,14}$/.test(text) ? { failedAs: Number(text) } : {};
}
