import * as z from 'zod';
import { detailsOf } from '../core/error-code.ts';
import { FlowError } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { GivenVariables } from '../core/run-options.ts';
import { compileFlow, type FlowFileOptions } from '../run/flow-file.ts';
import type { ServedFlow } from '../run/flow-folder.ts';
import { messageForClient } from './advice.ts';
import { asProblem, validPlan } from './calls.ts';
import { problemJson } from './flow-json.ts';
import { ProblemResponse } from './problem.ts';

const prefix = 'var.';

/** Variables of the flow are set as in `var.NAME=VALUE`. */
export function queryWithVariables<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject(shape).superRefine((query, context) => {
    for (const [name, value] of Object.entries(query)) {
      if (Object.hasOwn(shape, name)) continue;
      if (!name.startsWith(prefix)) context.addIssue({ code: 'unrecognized_keys', keys: [name], input: query });
      else if (typeof value !== 'string') context.addIssue({ code: 'custom', message: 'expected one value', path: [name] });
    }
  });
}

export function variablesIn(query: unknown): GivenVariables {
  return Object.entries(query as Record<string, string>).flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
  );
}

interface WithVariables {
  readonly flow: ServedFlow;
  readonly given: GivenVariables;
}

/** Throws a Problem: `bad-request` if the variables are not valid, `flow-invalid` if the flow is not valid. */
export function planWithVariables(
  { flow, given }: WithVariables,
  options: Pick<FlowFileOptions, 'allowHttp' | 'textCells' | 'env'>,
): Promise<Plan> {
  validPlan(flow);
  const more = { name: flow.id, var: given, caller: 'now' } as const;
  return compileFlow(flow.text, flow.path, { ...options, ...more }).catch(asVariableProblem({ flow, given }));
}

/** Compiles again only if the call sets variables or the flow needs values for some. */
export async function planOfCall(call: WithVariables, { allowHttp, env }: Pick<FlowFileOptions, 'allowHttp' | 'env'>): Promise<Plan> {
  const { flow, given } = call;
  const isReady = given.length === 0 && flow.plan?.variables.unset.size === 0;
  return isReady ? validPlan(flow) : planWithVariables(call, { allowHttp, env, textCells: false });
}

function asVariableProblem({ flow, given }: WithVariables): (error: unknown) => never {
  return (error) => {
    if (detailsOf(error, 'invalid-option')?.option === 'var')
      throw new ProblemResponse('bad-request', messageForClient(error as FlowError));
    if (!(error instanceof FlowError) || error.kind === 'credential') return asProblem(flow)(error);
    const missing = error.problems.filter((problem) => detailsOf(problem, 'variable-missing'));
    if (given.length === 0 && missing.length === 0) return asProblem(flow)(error);
    // The flow is known to be valid, so the problems are in the values of the variables.
    const problems = missing.length > 0 ? missing : error.problems;
    const errors = problems.map((problem) => problemJson(problem, flow.path));
    throw new ProblemResponse('bad-request', errors.map(({ message }) => message).join('\n'), { errors });
  };
}
