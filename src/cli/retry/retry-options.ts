import { argument, defaultsTo, flag, type ValuesOf } from '../options.ts';
import { runOptions } from '../run/run-options.ts';
import { file, filesOption } from '../shared-options.ts';

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
  metrics,
  quiet,
  verbose,
  var: variables,
  allowHttp,
  cacert,
} = runOptions;

/** Declares the argument for the path of the output whose failed records are retried. */
export const retriedOutput = argument('<out>', 'the output of a complete run in which some records failed');

/** The options of `automate retry`. */
export const retryOptions = {
  errors: file('--errors <file>', 'the failed records, which you can edit before the retry (default: the errors file of the run)', {
    about: 'output',
  }),
  ...{ concurrency, workers, queue, queueName, waitForWorkers, rate, maxErrors, keepGoing, maxCredits, events, summary, report, metrics },
  resume: flag('--resume', 'continue an unfinished retry, or start one if there is none', { about: 'start' }),
  force: flag('--force', 'discard an unfinished retry, and start over', { about: 'start' }),
  ...{
    quiet,
    verbose,
    var: defaultsTo([], variables, 'the values of the run'),
    allowHttp,
    cacert,
    files: filesOption('the folder of the run'),
  },
};

/** The values of the options of `automate retry`. */
export type RetryOptions = ValuesOf<typeof retryOptions>;
