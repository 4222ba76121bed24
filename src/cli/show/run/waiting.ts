import type { WorkerWait } from '../../../app/workers/worker-wait.ts';
import { shellWord } from '../../../core/text/shell-word.ts';

/** The line of a run that waits for a worker: the command that starts one, or what those that are there lack. */
export function waitText({ url, queueName, problems }: WorkerWait): string {
  const name = queueName === undefined ? '' : ` --queue-name ${shellWord(queueName)}`;
  const [first] = problems;
  if (!first) return `waiting for a worker: automate worker --queue ${shellWord(url)}${name}`;
  const { worker, problem, credentials = [] } = first;
  const way = credentials.length === 0 ? '' : ` (automate credentials set ${credentials[0]})`;
  const lack = credentials.length === 0 ? `: ${problem}` : ` has no credential "${credentials[0]}"`;
  return `waiting for a worker: ${problems.length === 1 ? '1 is' : `${problems.length} are`} there; ${worker}${lack}${way}`;
}
