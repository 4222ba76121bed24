import { Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Value } from '../../core/value/value.ts';
import { withEscapes } from './writers/csv-writer.ts';

/** The columns that an errors file adds to a record's own. */
export const errorColumns = ['_error_node', '_error_class', '_error_status', '_error_message', '_error_attempts', '_error_record'] as const;

/** The column of a table for the fields of a JSON record that have none of their own, or do not fit into it, as JSON: records need not be alike. */
export const otherFields = '_error_fields';

/** The longest message that is shown of a record that cannot be read. */
const mostShown = 600;

/** A record that could not even be read. Its message may be shown, and is short; `whole` is for the errors file, with all that was found. */
export class Unreadable extends Failure {
  constructor(readonly whole: string) {
    const isShort = whole.length <= mostShown;
    super('input', isShort ? whole : `${whole.slice(0, mostShown).toWellFormed()}...`, { sent: false });
  }
}

/** What an errors file says of a failed record: in columns of their own, or as one `_error` object. */
export function errorFields(item: Item, failure: Failure, asColumns: boolean): [string, Value][] {
  const { node, kind, status, attempts } = failure;
  const shown = asColumns ? onOneLine(failure.message) : failure.message;
  const message = failure instanceof Unreadable ? failure.whole : shown;
  const values: Value[] = [node ?? null, kind, status ?? null, asColumns ? withEscapes(message) : message, attempts, item.number];
  if (asColumns) return errorColumns.map((name, index) => [name, values[index] as Value]);
  const error = Object.fromEntries(errorColumns.map((name, index) => [name.replace('_error_', ''), values[index] as Value]));
  return [['_error', error]];
}

/** A message and its advice, which stands on lines of its own, on one line. */
export function onOneLine(message: string): string {
  return message.trim().replace(/([,.:;!?]?)\s*[\r\n]+\s*/g, (_, end: string) => (end === '' ? '; ' : `${end} `));
}

const stillUnreadable = 'could not be read in an earlier run (mend it, and empty its error class): ';

/**
 * Why a record of an errors file fails again: what could not be read then has no proper fields now, and must not be sent.
 * Neither must one some of whose fields (`others`) had no column. Absent for a record that failed later on its way.
 */
export function unreadableBefore(errorClass: unknown, message: unknown, others?: unknown): Failure | undefined {
  if (others) return new Unreadable(`had fields without a column (give them columns, and empty ${otherFields}): ${others}`);
  if (errorClass !== 'input') return undefined;
  return new Unreadable(stillUnreadable + String(message ?? '').replace(stillUnreadable, ''));
}
