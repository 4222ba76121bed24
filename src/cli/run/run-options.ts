import { AutomateError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { runOptions as allRunOptions, type InputOptions, type RunOptionName } from '../../core/run-options.ts';
import { withSetFields } from '../../flow/set-fields.ts';
import { hasTextCells, withToldFormat } from '../../records/inputs.ts';
import { loadFlowFor } from '../../run/flow-file.ts';
import { grouped, negated, type ValuesOf, type WrittenOptions } from '../options.ts';
import { inputsOption, runOptionsNamed, underHeadings, withInputs } from '../shared-options.ts';
import { sayFormat, type Terminal } from '../terminal.ts';

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
  /** True if credits are not counted, as in the demo. */
  readonly isFree?: boolean;
}

type WorkerOptions = Partial<Pick<GivenRun, 'workers' | 'queue' | 'queueName' | 'waitForWorkers'>>;

/** Throws an AutomateError (`usage`) if worker options exclude each other or lack an option that they need. */
export function refuseWorkerConflicts({ workers, queue, queueName, waitForWorkers }: WorkerOptions): void {
  if (workers !== undefined && queue !== undefined)
    throw new AutomateError(
      'usage',
      '--workers starts processes on this machine, --queue uses workers that watch a queue: expected one of the two',
    );
  if (queue !== undefined) return;
  if (queueName !== undefined)
    throw new AutomateError('usage', '--queue-name works only with --queue: add --queue, or leave --queue-name out');
  if (waitForWorkers !== undefined)
    throw new AutomateError('usage', '--wait-for-workers works only with --queue: add --queue, or leave --wait-for-workers out');
}

/** Uses --in, otherwise stdin unless it is a terminal. Throws an AutomateError (`usage`) without usable input, unless --no-input is set. */
function chooseInput(options: GivenRunOptions): GivenRun {
  if (!options.input) {
    const useless = (['in', 'inFormat', 'delimiter', 'sheet', 'encoding', 'records'] as const).find((name) => options[name] !== undefined);
    if (useless)
      throw new AutomateError('usage', `--no-input reads nothing: leave --${useless === 'inFormat' ? 'in-format' : useless} out`);
    return { ...options, in: '-', noInput: true, inFormat: 'ndjson' };
  }
  const named = withInputs(options);
  if (named.in !== undefined) return { ...named, in: named.in };
  if (!process.stdin.isTTY) return { ...options, in: '-' };
  throw new AutomateError(
    'usage',
    'expected --in FILE, found none, and stdin is a terminal\ngive the records with --in, pipe them in, or run the flow once with --no-input',
  );
}

/** Does not wait for stdin until the flow is known to be valid. */
export async function planRun(given: WrittenRun<GivenRunOptions>, terminal: Terminal): Promise<{ plan: Plan; written: WrittenRun }> {
  if (given.options.quiet && given.options.verbose) throw new AutomateError('usage', 'expected --quiet or --verbose, found both');
  const chosen = chooseInput(given.options);
  const { allowHttp = false, concurrency, rate: intervalMs, set, env, var: variables } = chosen;
  const added = set.map(([name]) => name);
  const load = (options: GivenRun) =>
    loadFlowFor(options, given.flow, { allowHttp, textCells: hasTextCells(options), concurrency, intervalMs, env, var: variables }, added);
  const plan = await load(chosen);
  const options = await withToldFormat(chosen, chosen.quiet ? undefined : sayFormat(terminal));
  const told = hasTextCells(options) === hasTextCells(chosen) ? plan : await load(options);
  return { plan: withSetFields(told, set), written: { ...given, options } };
}
