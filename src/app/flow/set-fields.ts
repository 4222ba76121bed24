import type { Step } from '../../core/node.ts';
import type { Plan } from '../../core/plan.ts';
import { withFields } from '../../core/record.ts';

/** The fields that are set for every record, in the order in which they were given. */
export type SetFields = readonly (readonly [name: string, value: string])[];

/** The columns of an input and those that are set. */
export function withSetColumns(columns: readonly string[], set: SetFields): string[] {
  return [...new Set([...columns, ...set.map(([name]) => name)])];
}

/** The plan with a first step that gives every record these fields. Failed records keep the fields that the input has. */
export function withSetFields(plan: Plan, set: SetFields): Plan {
  if (set.length === 0) return plan;
  const columns = (before: readonly string[]) => withSetColumns(before, set);
  const node: Step['node'] = { reads: [], columns, run: async (fields) => [withFields(fields, set)] };
  return {
    ...plan,
    steps: [{ id: 'set fields', type: 'set', node, when: undefined, onError: 'reject' }, ...plan.steps],
    warnings: (input) => plan.warnings(input && columns(input)),
    columns: (input) => plan.columns(columns(input)),
    unknownFields: (input, who) => plan.unknownFields(columns(input), who),
  };
}
