import type { FieldUse } from '../node.ts';
import type { AnswerCondition, Expression } from './condition.ts';

/** Returns the fields that an expression at this path of a node refers to. */
export function fieldUses({ named, fields }: Expression<unknown>, at: FieldUse['at']): FieldUse[] {
  return named.map((field) => ({ field, at, isTested: !fields.includes(field) }));
}

/** Returns the record's fields that a condition about a response refers to, each once. */
export function recordUses({ recordFields }: AnswerCondition, at: FieldUse['at']): FieldUse[] {
  const first = recordFields.filter(({ name }, index) => recordFields.findIndex((other) => other.name === name) === index);
  return first.map(({ name: field, written, isTested }) => ({ field, written, at, isTested }));
}
