import type { Step } from '../core/node.ts';
import type { Plan } from '../core/plan.ts';
import { withFields } from '../core/record.ts';
import type { SetFields } from '../core/run-options.ts';

function withSetColumns(columns: readonly string[], set: SetFields): string[] {
  return [...new Set([...columns, ...set.map(([name]) => name)])];
}

/** A new first step sets the fields in every record. The errors file contains failed records without them, as in the input. */
export function withSetFields(plan: Plan, written: SetFields): Plan {
  if (written.length === 0) return plan;
  const set = written.map(([name, value]) => [plan.names.inFlow(name), value] as const);
  const columns = (before: readonly string[]) => withSetColumns(before, set);
  const { serialOrder } = plan;
  const node: Step['node'] = { reads: [], columns, run: async (fields) => [withFields(fields, set)] };
  return {
    ...plan,
    steps: [{ id: 'set fields', type: 'set', node, when: undefined, onError: 'reject' }, ...plan.steps],
    warnings: (input) => plan.warnings(input && columns(input)),
    replacedColumns: (input) => plan.replacedColumns(columns(input)),
    columns: (input) => plan.columns(columns(input)),
    unknownFields: (input, who) => plan.unknownFields(columns(input), who),
    headerProblems: (header) => plan.headerProblems([...new Set([...header, ...set.map(([name]) => plan.names.inFile(name))])]),
    serialOrder: serialOrder && { ...serialOrder, keyOf: (fields, clock) => serialOrder.keyOf(withFields(fields, set), clock) },
  };
}
