import type { Expression } from '../core/condition/condition.ts';
import { Failure } from '../core/failure.ts';
import type { FieldUse } from '../core/node.ts';
import type { SerialOrder } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { textOf, type Value } from '../core/value/value.ts';

/** The value of `serial_by`: a field, a list of fields, or an expression. */
export type SerialBy = string | readonly string[] | { readonly cel: Expression<Value> };

/** Returns the order that `serial_by` asks for. `written` is the option as it is written in the flow. */
export function serialOrderOf(serialBy: SerialBy, written: unknown): SerialOrder {
  if (typeof serialBy === 'string')
    return { label: serialBy, needed: [], optional: [serialBy], keyOf: (fields) => keyOf(fields.get(serialBy)) };
  if ('cel' in serialBy) {
    const { cel } = serialBy;
    const optional = cel.named.filter((name) => !cel.fields.includes(name));
    return {
      label: String((written as { cel: unknown }).cel),
      needed: cel.fields,
      optional,
      keyOf: (fields) => keyOf(evaluated(cel, fields)),
    };
  }
  return { label: serialBy.join(' and '), needed: [], optional: serialBy, keyOf: (fields) => keyOfAll(serialBy, fields) };
}

/** Returns the fields to which `serial_by` refers. */
export function serialUses(serialBy: SerialBy): FieldUse[] {
  if (typeof serialBy === 'string') return [{ field: serialBy, at: ['serial_by'], written: serialBy }];
  if ('cel' in serialBy) return serialBy.cel.fields.map((field) => ({ field, at: ['serial_by', 'cel'], written: field }));
  return serialBy.map((field, index) => ({ field, at: ['serial_by', index], written: field }));
}

/** Returns a value as text, so that 17 and "17" are the same key; undefined for null and an empty string. */
function keyOf(value: Value | undefined): string | undefined {
  return textOf(value ?? null) || undefined;
}

/** Returns the texts of several fields as one key; undefined if all of them are null or empty. */
function keyOfAll(names: readonly string[], fields: Fields): string | undefined {
  const texts = names.map((name) => textOf(fields.get(name) ?? null));
  return texts.every((text) => text === '') ? undefined : JSON.stringify(texts);
}

function evaluated(cel: Expression<Value>, fields: Fields): Value {
  try {
    return cel.evaluate(fields);
  } catch (error) {
    // A record without the value has nothing to be compared, as if the option named the field.
    if (error instanceof Failure && cel.named.some((name) => (fields.get(name) ?? null) === null)) return null;
    if (error instanceof Failure) throw error.withMessage(`serial_by: ${error.message}`);
    throw error;
  }
}
