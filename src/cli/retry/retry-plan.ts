import { AutomateError, FlowError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { shownPath } from '../../files/stat.ts';
import type { LastingOptions } from '../../output/failed-list-of.ts';
import { errorsFileKey } from '../../output/journal/complete-run.ts';
import type { FailedList } from '../../output/journal/failed-list.ts';
import { isFileOrFree, type OutputPlan } from '../../output/output-plan.ts';
import { changedVariables, hasChanged } from '../../output/run-identity.ts';
import { extensionOf, formatOfPath } from '../../records/format.ts';
import type { GivenRunOptions, WrittenRun } from '../run/run-options.ts';
import type { Terminal } from '../terminal.ts';
import type { RetryOptions } from './retry-options.ts';

/** A retry as written on the command line. */
export interface RetryRequest extends Pick<WrittenRun, 'written'> {
  readonly out: string;
  readonly options: RetryOptions;
}

/**
 * Returns the files that a retry writes, which are the files of the run whose records failed. Throws an AutomateError (`usage`) if there is
 * no usable errors file.
 */
export function filesOf({ out, options }: RetryRequest, { identity, formats }: FailedList): OutputPlan {
  const errors = options.errors ?? shownPath(identity[errorsFileKey] ?? '');
  if (errors === 'none' || !isFileOrFree(errors))
    throw new AutomateError('usage', `--errors: expected the file of the failed records, found ${errors}`);
  return { out, isStreamed: false, format: formats.output, errors, errorsFormat: formatOfPath(errors) ?? formats.errors };
}

/** Returns the run that processes the failed records. It has the options of the failed run, unless the retry overrides them. */
export function retryRun(retry: RetryRequest, list: FailedList, files: OutputPlan): WrittenRun<GivenRunOptions> {
  const { out, options, written } = retry;
  const { force: _, ...given } = options;
  const lasting = list.options as Pick<GivenRunOptions, keyof LastingOptions>;
  const { errors = '' } = files;
  const input = { in: [errors], inFormat: extensionOf(files.errorsFormat, '').slice(1), input: true };
  return {
    flow: shownPath(list.flow),
    options: { ...lasting, ...given, ...input, var: [...(lasting.var ?? []), ...given.var], out, errors, replace: true },
    written,
    retryOf: out,
  };
}

/**
 * Prints a note if the flow has changed since the failed run. Throws a FlowError if the flow's columns differ from the output's. Throws an
 * AutomateError (`output-exists`) if a variable has changed, because the output would mix rows made with both values.
 */
export async function checkFlow(plan: Plan, { flow, options }: WrittenRun, list: FailedList, terminal: Terminal): Promise<void> {
  const [variable] = changedVariables(plan, list.identity);
  if (variable !== undefined) {
    const message = `${options.out} cannot be retried with different values: the variable ${variable} has changed`;
    throw new AutomateError('output-exists', `${message}\n${otherWay(flow, options.in)}`);
  }
  if (!(await hasChanged({ file: flow, plan }, list.identity))) return;
  const { input, output } = list.columns;
  const columns = plan.columns(input);
  const others = [...difference('without', output, columns), ...difference('with the new', columns, output)];
  if (others.length > 0 || columns.join('\0') !== output.join('\0')) throw otherColumns(flow, options, others);
  if (!options.quiet) terminal.say(`${flow} has changed since ${options.out} was written: the retry uses it as it is now`);
}

function difference(how: string, some: readonly string[], others: readonly string[]): string[] {
  const names = some.filter((name) => !others.includes(name)).map((name) => `"${name}"`);
  return names.length === 0 ? [] : [`${how} ${names.join(', ')}`];
}

function otherColumns(flow: string, { out, in: errors }: Pick<WrittenRun['options'], 'out' | 'in'>, others: readonly string[]): FlowError {
  const found = others.length === 0 ? 'found them in a different order' : `found them ${others.join(' and ')}`;
  const message = `the flow has changed: expected the columns of ${out}, ${found}\n${otherWay(flow, errors)}`;
  return new FlowError(flow, [{ message }]);
}

/** Returns advice for an output that `retry` cannot use: a command line that runs the failed records into another file. */
export function otherWay(flow: string, errors: string): string {
  return `run the failed records into another file: ${['automate', 'run', flow, '--in', errors, '--out', 'other.csv'].map(shellWord).join(' ')}`;
}
