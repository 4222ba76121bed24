import type { ErrorFacts } from '../core/error-code.ts';
import { Failure } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { type Fields, withFields } from '../core/record.ts';
import { jsonOf, type Value } from '../core/value/value.ts';
import { escapeSurrogates, isTableWriter } from './csv-writer.ts';
import type { RecordWriter } from './format.ts';

/** The columns of an errors file besides the records' own. */
export const errorColumns = ['_error_node', '_error_class', '_error_status', '_error_message', '_error_attempts', '_error_record'] as const;

/** The column for fields, as JSON, that have no column of their own or whose text contains a lone surrogate. */
export const otherFields = '_error_fields';

/** Characters shown of the message about an unreadable record. */
const maxShown = 600;

/** The message is shortened for display. The complete message is in `whole`, which goes into the errors file. */
export class Unreadable extends Failure {
  constructor(
    readonly whole: string,
    facts?: ErrorFacts,
  ) {
    const isShort = whole.length <= maxShown;
    super('input', isShort ? whole : `${whole.slice(0, maxShown).toWellFormed()}...`, { sent: false, ...facts });
  }

  /** Adds the name of the input file to the message. */
  inFile(name: string): Unreadable {
    const { code, details } = this;
    return new Unreadable(`${name}: ${this.whole}`, code === undefined ? undefined : ({ code, details } as ErrorFacts));
  }
}

export function errorRow(item: Item, failure: Failure, writer: RecordWriter): Fields {
  const fields = failure.masked ? withFields(item.fields, failure.masked) : item.fields;
  if (!isTableWriter(writer)) return withFields(fields, errorFields(item, failure, false));
  return withFields(fitColumns(fields, writer.columns), errorFields(item, failure, true));
}

/** Moves fields without a column or with a lone surrogate to `_error_fields` as JSON. Plain text would lose or change their values. */
function fitColumns(fields: Fields, columns: readonly string[]): Fields {
  const columnSet = new Set(columns);
  const fits = ([name, value]: readonly [string, Value]) => columnSet.has(name) && (typeof value !== 'string' || value.isWellFormed());
  const others = [...fields].filter((field) => !fits(field));
  if (others.length === 0) return fields;
  return new Map([...[...fields].filter(fits), [otherFields, jsonOf(Object.fromEntries(others))]]);
}

/** For a table, the columns in `errorColumns`. For other formats, one field `_error` with an object. @internal */
export function errorFields(item: Item, failure: Failure, asColumns: boolean): [string, Value][] {
  const { node, kind, status, attempts } = failure;
  const shown = asColumns ? onOneLine(failure.message) : failure.message;
  const message = failure instanceof Unreadable ? failure.whole : shown;
  const values: Value[] = [node ?? null, kind, status ?? null, asColumns ? escapeSurrogates(message) : message, attempts, item.number];
  if (asColumns) return errorColumns.map((name, index) => [name, values[index] as Value]);
  const error = Object.fromEntries(errorColumns.map((name, index) => [name.replace('_error_', ''), values[index] as Value]));
  return [['_error', error]];
}

/** The first line is usually the reason, and the other lines are advice. */
export function onOneLine(message: string): string {
  return message.trim().replace(/([,.:;!?]?)\s*[\r\n]+\s*/g, (_, end: string) => (end === '' ? '; ' : `${end} `));
}

const stillUnreadable = 'could not be read in an earlier run (correct it, and clear its error class): ';

/** For a record that must not be sent again: an earlier run could not read it, or it has fields without a column (`others`). */
export function unreadableBefore(errorClass: unknown, message: unknown, others?: unknown): Failure | undefined {
  if (others) return new Unreadable(`had fields without a column (give them columns, and clear ${otherFields}): ${others}`);
  if (errorClass !== 'input') return undefined;
  return new Unreadable(stillUnreadable + String(message ?? '').replace(stillUnreadable, ''));
}

/** The record's number in the run in which it failed, from the errors file. Empty if `number` is not valid. */
export function failedAs(number: unknown): Pick<Item, 'failedAs'> {
  const text = String(number ?? '').trim();
  // A spreadsheet program can have added decimals, also with a comma.
  const [, digits] = /^([1-9]\d{0,14})(?:[.,]0*)?$/.exec(text) ?? [];
  return digits === undefined ? {} : { failedAs: Number(digits) };
}
