import type { Expression } from '../core/condition/condition.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import { Failure } from '../core/failure.ts';
import type { BuildContext, FieldUse, Inner, Node, Step } from '../core/node.ts';
import { fieldUses } from '../core/options/expressions.ts';
import { columnsAfterAll } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';

export function innerParts(steps: readonly Step[], inner: Omit<Inner, 'steps'>): Pick<Node, 'reads' | 'columns' | 'typedFields' | 'inner'> {
  return {
    reads: [],
    columns: (before) => columnsAfterAll(steps, before),
    typedFields: steps.flatMap(({ node }) => node.typedFields ?? []),
    inner: { steps, ...inner },
  };
}

/** Warns of conditions that can never be true for the cells of a table. */
export function conditionReads(context: BuildContext, conditions: Readonly<Record<string, Expression<boolean> | undefined>>): FieldUse[] {
  return Object.entries(conditions).flatMap(([name, condition]) => {
    if (!condition) return [];
    context.warnOfCells([name], condition);
    return fieldUses(condition, [name]);
  });
}

/** True if a condition is true for the last record of a pass. If its evaluation fails, the Failure contains the name of the option. */
export function isMet(name: string, condition: Expression<boolean>, record: Fields, clock: EvaluationClock): boolean {
  try {
    return condition.evaluate(record, clock);
  } catch (error) {
    throw error instanceof Failure ? error.withMessage(`${name}: ${error.message}`) : error;
  }
}
