import type { Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';

/** Returns the input fields that every record needs. A node or its condition reads these fields, and no earlier node adds them. */
export function fieldsRead(plan: Pick<Plan, 'steps'>): string[] {
  const needed = new Set<string>();
  let added: string[] = [];
  for (const step of plan.steps) {
    const inside = allSteps(step.node.inner?.steps ?? []);
    const own = inside.flatMap(({ node }) => node.columns([]));
    for (const field of [step, ...inside].flatMap(fieldsReadIn)) if (!added.includes(field) && !own.includes(field)) needed.add(field);
    added = step.node.columns(added);
  }
  return [...needed];
}

function fieldsReadIn({ when, node }: Step): string[] {
  return [...(when?.fields ?? []), ...node.reads.map(({ field }) => field)];
}

/** An input field that the flow uses. */
export interface TakenField {
  readonly name: string;
  /** True if records can lack the field, because the flow tests it for null. */
  readonly isOptional: boolean;
}

/** In a condition, these names refer to parts of a response, not to fields of the record. */
const answerNames: ReadonlySet<string> = new Set(['status', 'headers', 'body', 'record']);

/** Returns the input fields that the flow uses, including those that it only compares with null. */
export function fieldsTaken(plan: Plan): TakenField[] {
  const read = fieldsRead(plan);
  const tested = plan.nullTests();
  const made = new Set(allSteps(plan.steps).flatMap(({ node }) => node.columns([])));
  const onlyTested = tested.filter((name) => !read.includes(name) && !made.has(name) && !answerNames.has(name));
  return [...read, ...onlyTested].map((name) => ({ name, isOptional: tested.includes(name) }));
}
