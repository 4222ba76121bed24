import { detailsOf } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { similarFile } from '../../files/folder.ts';
import { takeLock } from '../../files/lock.ts';
import { realFile, statOf } from '../../files/stat.ts';
import { openFailedRecords } from '../../output/failed-records.ts';
import { type FailedList, failedListPath, readFailedList } from '../../output/journal/failed-list.ts';
import { type Checkpoint, journalPath, readJournal } from '../../output/journal/journal.ts';
import { isFileOrFree, planOutput } from '../../output/output-plan.ts';
import { isRetry } from '../../output/run-identity.ts';
import { refuseChangedWhole } from '../../output/sink.ts';
import { finishFound, unfinishedRun } from '../../output/unfinished-run.ts';
import { formatOfPath } from '../../records/format.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { withSignals } from '../run/run.ts';
import { planRun } from '../run/run-input.ts';
import type { Terminal } from '../terminal.ts';
import { checkFlow, filesOf, otherWay, type RetryRequest, retryRun } from './retry-plan.ts';

/**
 * Runs the failed records of an output again, and inserts their rows into the output at their original positions. Returns the exit code.
 */
export async function retryCommand(retry: RetryRequest, terminal: Terminal): Promise<number> {
  const { out, options } = retry;
  if (!isFileOrFree(out)) throw notRetriable(out, `expected an output file, found ${out === '-' ? 'stdout' : out}`);
  if (options.resume && options.force) {
    throw new AutomateError('usage', '--resume continues a retry, --force starts it over: use only one of them');
  }
  if (formatOfPath(out)?.kind === 'xlsx') throw notRetriable(out, `rows cannot be inserted into the workbook ${out}`);
  return withSignals(terminal, async (start) => {
    const wasComplete = await endComplete(out);
    const list = await readFailedList(failedListPath(realFile(out)));
    if (wasComplete && (options.resume || !list)) {
      if (!options.quiet) terminal.say(`${out}: the earlier run had finished, and its files are in place now`);
      return list ? exitCodes.someFailed : exitCodes.success;
    }
    if (!list) throw noFailedList(out);
    const files = filesOf(retry, list);
    const { plan, written } = await planRun(retryRun(retry, list, files), terminal);
    await checkFlow(plan, written, list, terminal);
    const { flow, options: chosen } = written;
    const open = async (from: Checkpoint) => {
      await refuseChangedOutput(out, list, flow, chosen.in);
      return openFailedRecords(chosen, from, list);
    };
    return start({ flow, plan, options: chosen, files, retried: list, startsOver: options.force ?? false, open }, written);
  });
}

/** Returns the error for an output without a list of failed records. */
function noFailedList(out: string): AutomateError {
  if (!statOf(out)) return new AutomateError('usage', `${out}: there is no such file${similarFile(out)}`);
  const output = out.replace(/\.errors(?=\.[^./]+$)/, '');
  if (output !== out && statOf(failedListPath(output)))
    return new AutomateError('usage', `${out} is an errors file; give the output: automate retry ${shellWord(output)}`);
  return notRetriable(out, `${out} has no failed records to retry: there is no ${failedListPath(out)}`);
}

/**
 * Finishes a complete run that was interrupted while its files were being moved into place, and returns true. Returns false if there is no
 * such run. Throws an AutomateError (`output-exists`) if the run is not complete.
 */
async function endComplete(out: string): Promise<boolean> {
  const path = journalPath(realFile(out));
  const lock = takeLock(realFile(out), 'out');
  try {
    const found = await readJournal(path);
    if (found?.isComplete) await finishFound(out, found);
    else if (found && !isRetry(found.identity)) throw unfinishedRun(found, out, path);
    return found?.isComplete ?? false;
  } finally {
    lock.release();
  }
}

/** Throws if the output has changed since the run, because the positions at which rows are to be inserted would be wrong. */
async function refuseChangedOutput(out: string, { output }: FailedList, flow: string, errors: string): Promise<void> {
  const advice = `restore its content, or ${otherWay(flow, errors)}`;
  await refuseChangedWhole(out, output).catch((error: Error) => {
    throw detailsOf(error, 'output-changed') ? new AutomateError('output-exists', `${error.message}\n${advice}`) : error;
  });
}

/** Returns the error for an output without a list of failed records. It suggests using `automate run` instead. */
function notRetriable(out: string, problem: string): AutomateError {
  const { errors = '' } = planOutput('flow.yaml', { in: out, out, outFormat: 'csv' }, { kind: 'csv', gzip: false });
  const way = statOf(errors) ? otherWay('flow.yaml', errors) : `if you have an errors file, ${otherWay('FLOW', 'ERRORS')}`;
  return new AutomateError('usage', `${problem}\n${way}`);
}
