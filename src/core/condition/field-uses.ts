import type { FieldUse } from '../node.ts';
import type { AnswerCondition, Expression } from './condition.ts';

export function fieldUses({ named, fields }: Expression<unknown>, at: FieldUse['at']): FieldUse[] {
  return named.map((field) => ({ field, at, isTested: !fields.includes(field) }));
}

export function recordUses({ recordFields }: AnswerCondition, at: FieldUse['at']): FieldUse[] {
  const first = recordFields.filter(({ name }, index) => recordFields.findIndex((other) => other.name === name) === index);
  return first.map(({ name: field, written, isTested }) => ({ field, written, at, isTested }));
}
