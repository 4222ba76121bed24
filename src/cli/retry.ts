import { argument, command, defaultsTo, flag } from './options.ts';
import { runOptions } from './run/run-options.ts';
import { file, filesOption } from './shared-options.ts';

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

const retriedOutput = argument('<out>', 'the output of a complete run in which some records failed');

const retryOptions = {
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

export const retry = command({
  examples: [
    'automate retry out.csv',
    'automate retry out.csv --errors corrected.csv',
    'automate retry out.csv --resume',
    'automate retry out.csv --metrics 9464',
  ],
  args: { out: retriedOutput },
  options: retryOptions,
  run: async ({ args, options, written, terminal }) =>
    (await import('./retry-command.ts')).retryCommand({ out: args.out, options, written }, terminal),
});
