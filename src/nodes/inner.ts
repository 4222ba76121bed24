import type { FieldUse } from '../core/action.ts';
import { columnsBehind } from '../core/columns.ts';
import type { Expression } from '../core/condition/condition.ts';
import { Failure } from '../core/failure.ts';
import type { BuildContext, Inner, Node, Step } from '../core/node.ts';
import type { Fields } from '../core/record.ts';

/** The part of a node that its inner nodes decide. `reads`: what is read of the records behind them. */
export function innerParts(steps: readonly Step[], inner: Omit<Inner, 'steps'>): Pick<Node, 'reads' | 'columns' | 'typedFields' | 'inner'> {
  return {
    reads: [],
    columns: (before) => columnsBehind(steps, before),
    typedFields: steps.flatMap(({ node }) => node.typedFields ?? []),
    inner: { steps, ...inner },
  };
}

/** The fields of conditions, each where it stands. What can never be true of a table's cells is warned of. */
export function conditionReads(context: BuildContext, conditions: Readonly<Record<string, Expression<boolean> | undefined>>): FieldUse[] {
  return Object.entries(conditions).flatMap(([name, condition]) => {
    if (!condition) return [];
    context.warnOfCells([name], condition);
    return condition.fields.map((field) => ({ field, at: [name] }));
  });
}

/** Whether a condition is true of a pass's last record. Throws a Failure. */
export function isMet(name: string, condition: Expression<boolean>, record: Fields): boolean {
  try {
    return condition.evaluate(record);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw error.retold(`${name}: ${error.message}`);
  }
}
