import { argument, flag, type ValuesOf } from '../options.ts';
import { runOptions } from '../run/run-options.ts';
import { file } from '../shared-options.ts';

const {
  concurrency,
  workers,
  queue,
  queueName,
  waitForWorkers,
  rate,
  maxErrors,
  keepGoing,
  maxCredits,
  events,
  summary,
  report,
  quiet,
  verbose,
  var: variables,
  allowHttp,
  cacert,
  files,
} = runOptions;

/** The output whose failed records are retried. */
export const retriedOutput = argument('<out>', 'the output of a complete run, in which records failed');

/** The options of `automate retry`. */
export const retryOptions = {
  errors: file('--errors <file>', 'the failed records, as they are now (default: the errors file of the run)', { about: 'output' }),
  ...{ concurrency, workers, queue, queueName, waitForWorkers, rate, maxErrors, keepGoing, maxCredits, events, summary, report },
  resume: flag('--resume', 'continue an unfinished retry; without one, begin one', { about: 'start' }),
  force: flag('--force', 'give up an unfinished retry, and start over', { about: 'start' }),
  ...{ quiet, verbose, var: variables, allowHttp, cacert, files },
};

/** The options of a retry as they were given. */
export type RetryOptions = ValuesOf<typeof retryOptions>;
