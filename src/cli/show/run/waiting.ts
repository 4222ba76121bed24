import { allSteps, type Plan } from '../../../core/plan.ts';
import { counted } from '../../../core/text/number.ts';
import { shellWord } from '../../../core/text/quoted-word.ts';
import type { WorkerWait } from '../../../run/run-request.ts';

/** Returns the line about the requests that each worker of a run sends at once; undefined for a flow that sends none. */
export function atOnceText({ steps }: Pick<Plan, 'steps'>): string | undefined {
  const limits = new Map<string, number>();
  for (const { node } of allSteps(steps))
    if (node.action && !node.action.lookup?.isLocal) limits.set(node.action.limit.key, node.action.limit.max);
  const requests = [...limits.values()].reduce((sum, max) => sum + max, 0);
  return requests === 0 ? undefined : `at most ${counted(requests, 'request')} at once in each worker`;
}

/**
 * Returns the line that a run prints while it waits for a worker. The line shows a command that starts a worker, or says why the workers
 * that are alive cannot process the run.
 */
export function waitText({ url, queueName, problems }: WorkerWait): string {
  const name = queueName === undefined ? '' : ` --queue-name ${shellWord(queueName)}`;
  const [first] = problems;
  if (!first) return `waiting for a worker: automate worker --queue ${shellWord(url)}${name}`;
  const { worker, problem, credentials = [] } = first;
  const way = credentials.length === 0 ? '' : ` (automate credentials set ${credentials[0]})`;
  const lack = credentials.length === 0 ? `: ${problem}` : ` has no credential "${credentials[0]}"`;
  return `waiting for a worker: ${problems.length === 1 ? '1 is' : `${problems.length} are`} there; ${worker}${lack}${way}`;
}
