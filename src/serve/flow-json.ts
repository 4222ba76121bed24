import { basename } from 'node:path';
import type { Problem as FlowProblem } from '../core/failure.ts';
import { entryOf } from '../core/map-entry.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { actionsOf, sumOf } from '../preview/forecast/actions.ts';
import type { ServedFlow } from '../run/flow-folder.ts';
import { messageForClient } from './advice.ts';
import type { FlowShape } from './shapes.ts';

function flowJson({ id, path, plan, problems, updatedAt }: ServedFlow): FlowShape {
  const steps = plan ? allSteps(plan.steps) : [];
  return {
    id,
    name: plan?.name ?? id,
    state: plan ? 'valid' : 'invalid',
    problems: problems.map((problem) => problemJson(problem, path)),
    nodes: steps.map(({ id: node, node: { action }, type }) => ({ id: node, type, connection: action?.price.connection ?? null })),
    fields: plan?.neededFields() ?? [],
    adds: plan ? [...plan.names.allInFile(plan.columns([]))] : [],
    ...(plan && plan.variables.open.size > 0 && { open_vars: openVariables(plan) }),
    credits_per_record: plan ? creditsPerRecord(plan) : { least: 0, most: null },
    updated_at: updatedAt.toISOString(),
  };
}

/** Leaves out variables that the flow does not use. */
export function openVariables({ variables: { open, unset, values } }: Plan): { name: string; default: string | null }[] {
  return [...open].flatMap((name): { name: string; default: string | null }[] => {
    if (unset.has(name)) return [{ name, default: null }];
    const value = values.get(name);
    return value === undefined ? [] : [{ name, default: value.startsWith('"') ? (JSON.parse(value) as string) : value }];
  });
}

const texts = new WeakMap<ServedFlow, string>();

/** Generated only once for each version of the flow's file. */
export function flowJsonText(flow: ServedFlow): string {
  return entryOf(texts, flow, () => JSON.stringify(flowJson(flow)));
}

export function problemJson(problem: FlowProblem, path: string) {
  const { line = null, column = null } = problem;
  return { line, column, message: messageForClient(problem).replaceAll(path, basename(path)) };
}

/** The cost of one record without retries. `most` is null if there is no upper bound. */
function creditsPerRecord({ steps: flow }: Plan): { least: number; most: number | null } {
  const steps = allSteps(flow).filter(({ node }) => !node.inner);
  const first = steps.findIndex(({ node }) => node.action);
  if (first === -1) return { least: 0, most: 0 };
  const loads = steps.map((_, index) => ({ records: index === first ? 1 : 0, calls: undefined, isCached: false, different: undefined }));
  const prices = steps.map(({ node }) => node.action?.price.credits ?? 0);
  const { most } = sumOf(actionsOf(flow, steps, loads), (index) => prices[index] as number, Number.POSITIVE_INFINITY);
  return { least: leastOf(flow), most: Number.isFinite(most) ? most : null };
}

/** The price of the cheapest call that can be a record's only call, or 0 if a record might need no call. */
function leastOf(flow: readonly Step[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { when, node } of flow) {
    if (!node.action) continue;
    const { price, cache, batchSize } = node.action;
    least = Math.min(least, price.credits);
    if (!when && !cache && batchSize === undefined) return least;
  }
  return 0;
}
