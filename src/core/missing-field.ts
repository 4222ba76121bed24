import { Failure } from './failure.ts';
import type { Fields } from './record.ts';
import { isObject, textOf } from './value/value.ts';

/** The failure of a record that lacks a field. It may be one that a node was to add which has kept the record: then that one's reason is told, too. */
export function missingField(name: string, fields: Fields): Failure {
  const kept = fields.get('_error');
  const before = isObject(kept) && typeof kept.message === 'string' ? `; before, ${textOf(kept.node ?? null)}: ${kept.message}` : '';
  return new Failure('template', `the record has no field "${name}"${before}`, { sent: false });
}
