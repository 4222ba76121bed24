import { usageError } from '../../core/failure.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { runOptions as allRunOptions, type InputOptions, type RunOptionName } from '../../core/run-options.ts';
import type { OutputPlan } from '../../output/output-plan.ts';
import { grouped, negated, type ValuesOf, type WrittenOptions } from '../options.ts';
import { inputsOption, runOptionsNamed, underHeadings } from '../shared-options.ts';

/** All other options are declared in `core/run-options.ts`. */
export const runOptions = {
  ...grouped('Input', {
    in: inputsOption(
      'the input: a .csv, .tsv, .json, .jsonl or .ndjson file, one of these with .gz, an .xlsx file, or - for stdin (default: stdin, unless it is a terminal)',
    ),
    input: negated('--no-input', 'run the flow once, with one record that has no fields', { about: 'input' }),
  }),
  ...underHeadings(runOptionsNamed(Object.keys(allRunOptions) as RunOptionName[])),
};

export type GivenRunOptions = ValuesOf<typeof runOptions>;

export type GivenRun = Omit<GivenRunOptions, 'in'> & InputOptions & { readonly runsAll?: boolean };

export interface WrittenRun<Options = GivenRun> {
  readonly flow: string;
  readonly options: Options;
  readonly written: WrittenOptions;
  /** The output whose failed records are retried, as written by the user. */
  readonly retryOf?: string;
  readonly isFree?: boolean;
}

type WorkerOptions = Partial<Pick<GivenRun, 'workers' | 'queue' | 'queueName' | 'waitForWorkers'>>;

export function refuse(message: string): never {
  throw usageError(message);
}

/** Throws an AutomateError (`usage`) if worker options exclude each other or lack an option that they need. */
export function refuseWorkerConflicts({ workers, queue, queueName, waitForWorkers }: WorkerOptions): void {
  if (workers !== undefined && queue !== undefined)
    refuse('--workers starts processes on this machine, --queue uses workers that watch a queue: expected one of the two');
  if (queue !== undefined) return;
  if (queueName !== undefined) refuse('--queue-name works only with --queue: add --queue, or leave --queue-name out');
  if (waitForWorkers !== undefined) refuse('--wait-for-workers works only with --queue: add --queue, or leave --wait-for-workers out');
}

/** Throws an AutomateError (`usage`) if answers cannot be kept or used by such a run. */
export function refuseAnswers(plan: Plan, { keepAnswers, replay, maxKept, queue }: GivenRun, { isStreamed }: OutputPlan): void {
  if (keepAnswers === undefined && maxKept !== undefined)
    refuse('--max-kept works only with --keep-answers: add --keep-answers, or leave --max-kept out');
  const option = replay ? '--replay' : keepAnswers === undefined ? undefined : '--keep-answers';
  if (option === undefined) return;
  if (isStreamed) refuse(`${option} needs an output file, because the answers are kept beside it\ngive one with --out`);
  if (queue !== undefined) refuse(`${option} does not work with --queue, whose workers are on other machines: leave one of the two out`);
  if (replay) refuseUnkept(plan);
}

/** Refuses nodes whose answers are not kept, also because a request contains a field that is computed from the time. */
function refuseUnkept({ steps }: Plan): void {
  const timed = new Set<string>();
  for (const { id, node } of allSteps(steps)) {
    const unkept = node.action?.unkept ?? (node.action && node.reads.some(({ field }) => timed.has(field)) ? 'now()' : undefined);
    if (unkept) refuse(`--replay cannot run the node ${id}: ${unkeptText[unkept]}`);
    for (const field of node.timedFields ?? []) timed.add(field);
  }
}

const unkeptText = {
  save: 'the files that it saves are not among the kept answers (save)',
  'now()': 'its requests contain the time, so no kept answer is for the same request (now())',
} as const;
