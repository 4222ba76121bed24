import { allSteps, type Plan } from './plan.ts';

/** The nodes of a flow, and the node and path that fill each field. */
export interface FlowOrigins {
  readonly nodes: readonly { readonly id: string; readonly type: string; readonly asks: boolean }[];
  readonly fields: readonly FieldOrigin[];
}

export interface FieldOrigin {
  readonly field: string;
  readonly node: string;
  /** The path in the answer, or the column of a joined file. Undefined for a field that is computed. */
  readonly path?: string;
}

export function originsOf(plan: Plan): FlowOrigins {
  const steps = allSteps(plan.steps);
  const found = new Map<string, Omit<FieldOrigin, 'field'>>();
  for (const { id, node } of steps) {
    const { fields = [], paths = [] } = node.action ?? {};
    // Fields without a path, such as those of a saved file, come first.
    const pathOf = new Map(paths.map((path, index) => [fields[fields.length - paths.length + index], path]));
    for (const { field, member } of node.mapped ?? []) pathOf.set(field, member.path);
    for (const field of node.columns([])) found.set(field, { node: id, path: pathOf.get(field) });
    for (const [from, to] of node.renames ?? []) {
      const origin = found.get(from);
      found.delete(from);
      if (origin) found.set(to, origin);
    }
  }
  return {
    nodes: steps.map(({ id, type, node }) => ({ id, type, asks: node.action !== undefined })),
    fields: plan.columns([]).flatMap((field) => {
      const origin = found.get(field);
      return origin ? [{ field, ...origin }] : [];
    }),
  };
}
