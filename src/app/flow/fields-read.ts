import type { Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';

/** The fields that the flow's records need: fields that a node or its condition reads and no earlier node adds. */
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

/** A field of the records that a flow takes. */
export interface TakenField {
  readonly name: string;
  /** True if a record may lack it, because the flow tests it for null. */
  readonly isOptional: boolean;
}

/** Names that stand for the parts of an answer in a condition. */
const answerNames: ReadonlySet<string> = new Set(['status', 'headers', 'body', 'record']);

/** The fields of the records that a flow takes: those that it reads, and those that it only tests for null. */
export function fieldsTaken(plan: Plan): TakenField[] {
  const read = fieldsRead(plan);
  const tested = plan.nullTests();
  const made = new Set(allSteps(plan.steps).flatMap(({ node }) => node.columns([])));
  const onlyTested = tested.filter((name) => !read.includes(name) && !made.has(name) && !answerNames.has(name));
  return [...read, ...onlyTested].map((name) => ({ name, isOptional: tested.includes(name) }));
}
