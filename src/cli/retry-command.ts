import { detailsOf } from '../core/error-code.ts';
import { AutomateError, FlowError, usageError } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { similarFile } from '../files/folder.ts';
import { takeLock } from '../files/lock.ts';
import { realFile, shownPath, statOf } from '../files/stat.ts';
import { hasFailedList, type LastingOptions, openFailedRecords, readFailedList } from '../output/failed-records.ts';
import type { FailedList } from '../output/journal/failed-list.ts';
import type { Checkpoint } from '../output/journal/journal.ts';
import { isFileOrFree, type OutputPlan, planOutput } from '../output/output-plan.ts';
import { changedJoinedFiles, changedVariables, hasChanged, type Identity, isRetry } from '../output/run-identity.ts';
import { refuseChangedWhole } from '../output/sink.ts';
import { truthPath } from '../output/truth-file.ts';
import { findOutput, finishFound, unfinishedRun } from '../output/unfinished-run.ts';
import { appendable, extensionOf, formatOfPath, usualFormat } from '../records/formats.ts';
import { withFlowNames } from '../records/inputs.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { planRun } from './run/plan-run.ts';
import { withSignals } from './run/run-command.ts';
import type { GivenRunOptions, WrittenRun } from './run/run-options.ts';
import type { Terminal } from './terminal.ts';

type RetryOptions = Partial<GivenRunOptions> & Pick<GivenRunOptions, 'var'>;

/** Inserts the rows into the output at their original positions. */
export async function retryCommand(retry: RetryRequest, terminal: Terminal): Promise<number> {
  const { out, options } = retry;
  if (!isFileOrFree(out)) throw notRetriable(out, `expected an output file, found ${out === '-' ? 'stdout' : out}`);
  if (options.resume && options.force) {
    throw usageError('--resume continues a retry, --force starts it over: use only one of them');
  }
  const format = formatOfPath(out);
  if (format && appendable(format) !== format) throw notRetriable(out, `rows cannot be inserted into the workbook ${out}`);
  return withSignals(out, options, terminal, async (start) => {
    const { wasComplete, unfinished } = await endComplete(out);
    const list = await readFailedList(out).catch((error: unknown) => {
      throw detailsOf(error, 'update-refused') ? notRetriable(out, (error as Error).message, 'output-exists') : error;
    });
    if (wasComplete && (options.resume || !list)) {
      if (!options.quiet) terminal.say(`${out}: the earlier run had finished, and its files are in place now`);
      return list ? exitCodes.someFailed : exitCodes.success;
    }
    if (!list) throw noFailedList(out);
    // A retry with `--errors` that was stopped is continued with the same file.
    const identity = (options.resume && unfinished) || list.identity;
    const files = filesOf(retry, list.formats, identity);
    const { plan, written } = await planRun(retryRun(retry, list, files), terminal);
    await checkFlow(plan, written, list, terminal);
    const { flow, options: chosen } = written;
    const open = async (from: Checkpoint) => {
      await refuseChangedOutput(out, list, flow, chosen.in);
      return withFlowNames(await openFailedRecords(chosen, from, list), plan, flow);
    };
    return start({ flow, plan, options: chosen, files, retried: list, startsOver: options.force ?? false, open }, written);
  });
}

function noFailedList(out: string): AutomateError {
  if (!statOf(out)) return usageError(`${out}: there is no such file${similarFile(out)}`);
  const output = out.replace(/\.errors(?=\.[^./]+$)/, '');
  if (output !== out && hasFailedList(output))
    return usageError(`${out} is an errors file; give the output: automate retry ${shellWord(output)}`);
  return notRetriable(out, `${out} has no failed records to retry${statOf(truthPath(out)) ? '' : `: there is no ${truthPath(out)}`}`);
}

/**
 * `wasComplete` is true if the run was interrupted while its files were being moved into place: they are there now. Throws an AutomateError
 * (`output-exists`) if a run, not a retry, is unfinished.
 */
async function endComplete(out: string): Promise<{ readonly wasComplete: boolean; readonly unfinished: Identity | undefined }> {
  const lock = takeLock(realFile(out), 'out');
  try {
    const { state, journal } = await findOutput(out);
    if (state === 'moving') await finishFound(out, journal);
    if (state === 'unfinished' && !isRetry(journal.identity)) throw unfinishedRun(journal, out);
    return { wasComplete: state === 'moving', unfinished: state === 'unfinished' ? journal.identity : undefined };
  } finally {
    lock.release();
  }
}

/** Throws if the output has changed since the run: the positions at which rows are inserted would be wrong. */
async function refuseChangedOutput(out: string, { output }: FailedList, flow: string, errors: string): Promise<void> {
  const advice = `restore its content, or ${otherWay(flow, errors)}`;
  await refuseChangedWhole(out, output).catch((error: Error) => {
    throw detailsOf(error, 'output-changed') ? new AutomateError('output-exists', `${error.message}\n${advice}`) : error;
  });
}

function notRetriable(out: string, problem: string, kind: 'usage' | 'output-exists' = 'usage'): AutomateError {
  const { errors = '' } = planOutput('flow.yaml', { in: out, out, outFormat: usualFormat.kind }, usualFormat);
  const way = statOf(errors) ? otherWay('flow.yaml', errors) : `if you have an errors file, ${otherWay('FLOW', 'ERRORS')}`;
  return new AutomateError(kind, `${problem}\n${way}`);
}

interface RetryRequest extends Pick<WrittenRun, 'written'> {
  readonly out: string;
  readonly options: RetryOptions;
}

/** The files of the run whose records failed. Throws an AutomateError (`usage`) if there is no usable errors file. */
function filesOf({ out, options }: RetryRequest, formats: FailedList['formats'], { errorsFile }: Identity): OutputPlan {
  const errors = options.errors ?? shownPath(errorsFile);
  if (errors === 'none' || !isFileOrFree(errors)) throw usageError(`--errors: expected the file of the failed records, found ${errors}`);
  return { out, isStreamed: false, format: formats.output, errors, errorsFormat: { ...formats.errors, ...formatOfPath(errors) } };
}

/** It has the options of the failed run, unless the retry overrides them. */
function retryRun(retry: RetryRequest, list: FailedList, files: OutputPlan): WrittenRun<GivenRunOptions> {
  const { out, options, written } = retry;
  const { force: _, ...given } = options;
  const lasting = list.options as Pick<GivenRunOptions, keyof LastingOptions>;
  const { errors = '' } = files;
  const { delimiter = files.errorsFormat.delimiter } = given;
  const input = { in: [errors], inFormat: extensionOf(files.errorsFormat, '').slice(1), delimiter, input: true };
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
async function checkFlow(plan: Plan, { flow, options }: WrittenRun, list: FailedList, terminal: Terminal): Promise<void> {
  const [variable] = changedVariables(plan, list.identity);
  if (variable !== undefined) {
    const message = `${options.out} cannot be retried with different values: the variable ${variable} has changed`;
    throw new AutomateError('output-exists', `${message}\n${otherWay(flow, options.in)}`);
  }
  const changed = options.quiet ? [] : await changedJoinedFiles({ file: flow, plan }, list.identity);
  for (const name of changed) terminal.say(`${name} has changed since ${options.out} was written: the retry uses it as it is now`);
  if (!(await hasChanged({ file: flow, plan }, list.identity))) return;
  const { input, output } = list.columns;
  const columns = plan.names.allInFile(plan.columns(input));
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

/** A command line that runs the failed records into another file, for an output that `retry` cannot use. */
function otherWay(flow: string, errors: string): string {
  return `run the failed records into another file: ${['automate', 'run', flow, '--in', errors, '--out', 'other.csv'].map(shellWord).join(' ')}`;
}
