import { allSteps, type Plan } from '../core/plan.ts';

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
  const read = plan.neededFields();
  const tested = plan.nullTests();
  const made = new Set(allSteps(plan.steps).flatMap(({ node }) => node.columns([])));
  const onlyTested = tested.filter((name) => !read.includes(name) && !made.has(name) && !answerNames.has(name));
  const serial = plan.serialOrder?.optional ?? [];
  const all = [...new Set([...read, ...onlyTested, ...serial])];
  return all.map((name) => ({ name, isOptional: tested.includes(name) || !read.includes(name) }));
}
