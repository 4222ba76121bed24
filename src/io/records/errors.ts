import { Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Value } from '../../core/value.ts';

/** The columns that an errors file adds to a record's own. */
export const errorColumns = ['_error_node', '_error_class', '_error_status', '_error_message', '_error_attempts', '_error_record'] as const;

/** What an errors file says of a failed record: in columns of their own, or as one `_error` object. */
export function errorFields(item: Item, failure: Failure, asColumns: boolean): [string, Value][] {
  const { node, kind, status, attempts } = failure;
  const message = asColumns ? onOneLine(failure.message) : failure.message;
  const values: Value[] = [node ?? null, kind, status ?? null, message, attempts, item.number];
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
 * Absent for a record that failed later on its way.
 */
export function unreadableBefore(errorClass: unknown, message: unknown): Failure | undefined {
  if (errorClass !== 'input') return undefined;
  return new Failure('input', stillUnreadable + String(message ?? '').replace(stillUnreadable, ''), { sent: false });
}
